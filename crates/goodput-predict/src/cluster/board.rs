//! How a cluster's devices differ from those of the catalogue.

use goodput_model::device::{Device, Figure, UnknownDevice};
use serde::Deserialize;

use super::Cluster;

/// What the site's boards have instead of the catalogue's figures: a power limit set below the rating, other memory.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// The limit that the driver keeps the board under, W.
    pub power_w: Option<f64>,
    /// Memory bandwidth, TB/s.
    pub memory_tb_per_s: Option<f64>,
    /// Memory, GB.
    pub memory_gb: Option<f64>,
}

impl Cluster {
    /// The cluster's device as it is there: the catalogue's, with the figures of `board` where it states them.
    ///
    /// # Errors
    /// [`UnknownDevice`] if neither the cluster nor the catalogue has it.
    pub fn fitted_device(&self) -> Result<Device, UnknownDevice> {
        let mut device = self.find_device()?.clone();
        let Board { power_w, memory_tb_per_s, memory_gb } = self.board;
        device.power_w = power_w.map(Figure::Exact).or(device.power_w);
        device.memory_gb = memory_gb.map(Figure::Exact).or(device.memory_gb);
        let bandwidth = memory_tb_per_s.map(|figure| Figure::Exact(figure * 1e12));
        device.memory_bytes_per_second = bandwidth.or(device.memory_bytes_per_second);
        Ok(device)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use goodput_model::device::Catalogue;

    use super::super::Clusters;
    use super::*;

    #[test]
    fn a_board_replaces_what_it_states() {
        let mut cluster = Clusters::built_in().find("DGX H100").unwrap().clone();
        let whole = cluster.fitted_device().unwrap();
        assert_eq!(&whole, Catalogue::built_in().find("H100 SXM5").unwrap());
        cluster.board = Board { power_w: Some(500.0), memory_tb_per_s: Some(2.4), memory_gb: None };
        let capped = cluster.fitted_device().unwrap();
        assert_eq!(capped.power_w, Some(Figure::Exact(500.0)));
        assert_eq!(capped.memory_bytes_per_second, Some(Figure::Exact(2.4e12)));
        assert_eq!((capped.memory_gb, capped.name), (whole.memory_gb, whole.name));
    }
}
