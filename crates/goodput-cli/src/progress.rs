//! How far a file has been read, on a terminal.

use std::fs::{DirEntry, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use goodput_verbs::Inputs;
use indicatif::{ProgressBar, ProgressStyle};

/// Inputs whose reading shows a bar on a terminal.
pub fn inputs() -> Inputs {
    Inputs::watched(|file, bytes, label| Box::new(Reported { file, bar: bar(bytes).with_message(label) }))
}

/// A bar over the bytes of files and of what directories hold.
pub fn bytes(paths: &[PathBuf]) -> ProgressBar {
    bar(paths.iter().map(|path| size(path)).sum())
}

/// Links inside a directory are not followed, as they may lead in a circle.
fn size(path: &Path) -> u64 {
    let entry_size = |entry: DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    match path.read_dir() {
        Ok(entries) => entries.flatten().map(entry_size).sum(),
        Err(_) => path.metadata().map_or(0, |metadata| metadata.len()),
    }
}

/// A bar over things that are counted, whose number is told later.
pub fn count() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{bar:30} {human_pos}/{human_len}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn bar(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    let style = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A file that moves a bar as it is read; the bar goes with it.
struct Reported {
    file: File,
    bar: ProgressBar,
}

impl Read for Reported {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bar.inc(read as u64);
        Ok(read)
    }
}

impl Drop for Reported {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
