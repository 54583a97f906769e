//! One writer a timeline.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Locks of this process. A record lock of the system is the whole process's, so it does not tell two recorders of
/// one process apart.
static HELD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A locked file beside the timeline. The timeline itself is not locked: whoever reads it in the writer's own process
/// and closes it would give the lock up.
#[derive(Debug)]
pub(super) struct WriterLock {
    path: PathBuf,
    _file: File,
}

/// The lock of a timeline: its name with `.lock`.
pub(super) fn lock_path(timeline: &Path) -> PathBuf {
    let mut name = timeline.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

impl WriterLock {
    /// Takes the lock, or says who has it.
    pub(super) fn take(path: &Path) -> io::Result<Result<Self, String>> {
        // Resolves links and `..` of the folder: the lock itself may not exist yet.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let path = folder.canonicalize()?.join(path.file_name().unwrap_or_default());
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if held.contains(&path) {
            return Ok(Err("this process".to_owned()));
        }
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
        if !try_lock(&file)? {
            let mut holder = String::new();
            file.read_to_string(&mut holder)?;
            return Ok(Err(holder.trim().to_owned()));
        }
        file.set_len(0)?;
        writeln!(file, "process {} on {}", std::process::id(), host())?;
        held.insert(path.clone());
        Ok(Ok(Self { path, _file: file }))
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        HELD.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
    }
}

/// A record lock: a forked child, such as a data loader's worker that outlives the job for a moment, does not inherit
/// it, so that a restart is not refused.
#[cfg(unix)]
fn try_lock(file: &File) -> io::Result<bool> {
    use rustix::fs::{FlockOperation, fcntl_lock};
    match fcntl_lock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(std::fs::TryLockError::WouldBlock) => Ok(false),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(unix)]
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
