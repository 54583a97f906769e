//! Published figures that reports are shown beside (`data/published.yaml`).

use std::sync::LazyLock;

use serde::Deserialize;

const FILE: &str = include_str!("../data/published.yaml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    mfu: Vec<PublishedMfu>,
    software: SoftwareGains,
}

/// The MFU that a training run published.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublishedMfu {
    pub system: String,
    pub year: u16,
    pub devices: Option<u64>,
    pub mfu: f64,
    pub source: String,
}

/// Throughput of one system before and after upgrades of its software alone.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SoftwareGains {
    pub system: String,
    pub measure: String,
    pub change: String,
    pub source: String,
    pub gains: Vec<SoftwareGain>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SoftwareGain {
    pub workload: String,
    pub gain: f64,
}

impl SoftwareGains {
    pub(crate) fn note(&self) -> String {
        format!("{}: {}; {}. Source: {}.", self.system, self.measure, self.change, self.source)
    }
}

fn file() -> Option<&'static File> {
    static BUILT_IN: LazyLock<Option<File>> = LazyLock::new(|| serde_saphyr::from_str(FILE).ok());
    BUILT_IN.as_ref()
}

/// In the order of years.
pub(crate) fn mfu() -> &'static [PublishedMfu] {
    file().map_or(&[], |file| &file.mfu)
}

pub(crate) fn software() -> Option<&'static SoftwareGains> {
    file().map(|file| &file.software)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_reads_and_every_figure_has_a_source() {
        let read: File = serde_saphyr::from_str(FILE).unwrap();
        assert!(read.mfu.iter().all(|run| !run.source.is_empty() && (0.0..1.0).contains(&run.mfu)));
        assert!(read.mfu.is_sorted_by_key(|run| run.year));
        assert_eq!(read.software.gains.len(), 5);
    }
}
