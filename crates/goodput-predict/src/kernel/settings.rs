//! Which grid a device reads, and how far off a reading is: `data/kernels/tables.yaml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::Format;

/// The file.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    grids: Vec<Source>,
    pub deviation: Deviation,
    pub roofline: Roofline,
    tiles_handed_out_at_launch: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    pub grid: String,
    pub measured_on: String,
    devices: Vec<String>,
}

/// Relative standard deviations.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Deviation {
    reading: BTreeMap<String, f64>,
    pub extrapolated: f64,
    pub roofline: f64,
    pub user_row: f64,
}

impl Deviation {
    pub fn reading(&self, format: Format) -> f64 {
        self.reading.get(format.name()).copied().unwrap_or(self.extrapolated)
    }
}

#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Roofline {
    pub share_of_largest_measured: f64,
    pub arithmetic: f64,
    pub memory: f64,
    pub launch_us: f64,
}

impl Settings {
    pub fn built_in() -> &'static Self {
        static SETTINGS: LazyLock<Settings> = LazyLock::new(|| {
            serde_saphyr::from_str(include_str!("../../data/kernels/tables.yaml")).unwrap_or_default()
        });
        &SETTINGS
    }

    /// The grid that a device of the catalogue reads.
    pub fn source(&self, device: &str) -> Option<&Source> {
        self.grids.iter().find(|source| source.devices.iter().any(|name| name == device))
    }

    /// Whether blocks of a product that find no multiprocessor run in a second wave.
    pub fn hands_out_tiles_at_launch(&self, device: &str) -> bool {
        self.tiles_handed_out_at_launch.iter().any(|name| name == device)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn grids_and_devices_are_known() {
        let settings: Settings =
            serde_saphyr::from_str(include_str!("../../data/kernels/tables.yaml")).unwrap();
        let of_a_rule = settings.tiles_handed_out_at_launch.iter();
        for source in &settings.grids {
            assert!(crate::kernel::shipped::Shipped::named(&source.grid).is_some(), "{}", source.grid);
            for device in source.devices.iter().chain([&source.measured_on]).chain(of_a_rule.clone()) {
                let found = goodput_model::device::Catalogue::built_in().devices();
                assert!(found.iter().any(|known| known.name == *device), "{device}");
            }
        }
        assert_eq!(Settings::built_in().source("A800 SXM4").unwrap().measured_on, "A100 SXM4 80GB");
    }
}
