//! `--tables`: calibration files in front of the shipped tables.

use std::path::PathBuf;
use std::sync::Arc;

use goodput_model::device::Catalogue;
use goodput_predict::cluster::Cluster;
use goodput_predict::measured::{Calibration, Measured};

use crate::error::{Place, VerbError};

/// Calibrations of several devices.
#[derive(Debug, Clone, Default)]
pub struct MeasuredTables {
    tables: Vec<Arc<Measured>>,
}

impl MeasuredTables {
    /// Reads files that `goodput calibrate` wrote.
    ///
    /// # Errors
    /// [`VerbError`] names the file, its line and its column.
    pub fn read(paths: &[PathBuf]) -> Result<Self, VerbError> {
        let mut tables: Vec<Arc<Measured>> = Vec::with_capacity(paths.len());
        for path in paths {
            let label = path.display().to_string();
            let refused = |why: String| {
                let place = Place { path: Some(label.clone()), ..Place::default() };
                VerbError::new(why)
                    .help("make the file with `goodput calibrate TABLE -o FILE` (docs/calibrate.md)")
                    .at(place)
            };
            let bytes = std::fs::read(path).map_err(|e| VerbError::io(path, &e))?;
            let text = String::from_utf8(bytes).map_err(|_| refused(format!("{label}: it is no text")))?;
            let calibration = Calibration::read(&label, &text).map_err(|e| refused(e.to_string()))?;
            let measured =
                Measured::new(&calibration, &label).map_err(|e| refused(format!("{label}: {e}")))?;
            if let Some(other) = tables.iter().find(|known| known.device() == measured.device()) {
                return Err(VerbError::new(format!(
                    "--tables {label}: {} holds {} too",
                    other.label(),
                    measured.device()
                ))
                .help("join them: goodput calibrate ONE OTHER -o FILE"));
            }
            tables.push(Arc::new(measured));
        }
        Ok(Self { tables })
    }

    /// Names of the files.
    pub fn labels(&self) -> Vec<String> {
        self.tables.iter().map(|table| table.label().to_owned()).collect()
    }

    /// Gives a cluster the calibration of its device, if there is one; whether there is.
    pub fn use_on(&self, cluster: &mut Cluster) -> bool {
        let device = Catalogue::built_in().find(&cluster.device);
        let of = |table: &&Arc<Measured>| device.as_ref().is_ok_and(|device| device.name == table.device());
        cluster.measured = self.tables.iter().find(of).cloned();
        cluster.measured.is_some()
    }

    /// The same for the one cluster of a run, which must be among the devices.
    ///
    /// # Errors
    /// [`VerbError`] where files are named and none is of the device.
    pub fn require_on(&self, cluster: &mut Cluster) -> Result<(), VerbError> {
        if self.use_on(cluster) || self.tables.is_empty() {
            return Ok(());
        }
        let devices: Vec<_> = self.tables.iter().map(|table| table.device()).collect();
        Err(VerbError::new(format!(
            "--tables: measured on {}, and the run is on {}",
            devices.join(", "),
            cluster.device
        ))
        .help("leave --tables out, or measure that device (docs/calibrate.md)"))
    }
}
