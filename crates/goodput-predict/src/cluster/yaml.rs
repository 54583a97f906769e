//! A cluster from YAML, each figure checked where it is read.

use serde::Deserialize;

use super::{Cluster, Link};

/// Why a cluster file cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// It is no YAML, or not of this form.
    #[error("{label}: {message}")]
    Yaml {
        /// The file as the user named it.
        label: String,
        /// What is wrong, with its line.
        message: String,
    },
    /// A field that cannot be right.
    #[error("{label}, cluster {cluster}, field {field}: {message}")]
    Field {
        /// The file as the user named it.
        label: String,
        /// The cluster.
        cluster: String,
        /// The field.
        field: &'static str,
        /// What was found and what to write.
        message: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    clusters: Vec<Cluster>,
}

fn parse<'a, T: Deserialize<'a>>(label: &str, text: &'a str) -> Result<T, ClusterError> {
    serde_saphyr::from_str(text)
        .map_err(|error| ClusterError::Yaml { label: label.to_owned(), message: error.to_string() })
}

pub(super) fn read_all(label: &str, text: &str) -> Result<Vec<Cluster>, ClusterError> {
    let file: File = parse(label, text)?;
    file.clusters.iter().try_for_each(|cluster| cluster.check(label))?;
    Ok(file.clusters)
}

impl Cluster {
    /// One cluster as a YAML mapping; `label` is the file's name, for errors.
    ///
    /// # Errors
    /// [`ClusterError`] with the line of what is no such mapping, or the field of a figure that cannot be right and
    /// what to write instead.
    pub fn from_yaml(label: &str, text: &str) -> Result<Self, ClusterError> {
        let cluster: Self = parse(label, text)?;
        cluster.check(label)?;
        Ok(cluster)
    }

    /// Whether its figures can be right; for a cluster that stands inside another file.
    ///
    /// # Errors
    /// As [`Cluster::from_yaml`].
    pub fn check(&self, label: &str) -> Result<(), ClusterError> {
        let error = |field, message: String| {
            Err(ClusterError::Field { label: label.to_owned(), cluster: self.name.clone(), field, message })
        };
        // Anything from a serial line to far above what is announced; a figure in Gb/s or bytes/s stays inside only by luck.
        let speed = |field, figure: Option<f64>| match figure {
            Some(figure) if !(figure > 0.0 && figure <= 1e5) => error(
                field,
                format!(
                    "{figure} GB/s is not possible: give GB/s of one direction, above 0 (400 Gb/s are 50 GB/s)"
                ),
            ),
            _ => Ok(()),
        };
        if self.devices_per_node == 0 {
            return error("devices_per_node", "0 devices: give at least 1".to_owned());
        }
        let above = |field, figure: Option<f64>, most: f64, unit: &str| match figure {
            Some(figure) if !(figure > 0.0 && figure <= most) => {
                error(field, format!("{figure} {unit} is not possible: give {unit} of one device, above 0"))
            }
            _ => Ok(()),
        };
        above("board.power_w", self.board.power_w, 1e5, "W")?;
        above("board.memory_tb_per_s", self.board.memory_tb_per_s, 1e3, "TB/s")?;
        above("board.memory_gb", self.board.memory_gb, 1e5, "GB")?;
        let intra = &self.intra;
        speed("intra.gb_per_s", Some(intra.gb_per_s))?;
        speed("intra.usable_gb_per_s", intra.usable_gb_per_s)?;
        speed("intra.peer_gb_per_s", intra.peer_gb_per_s)?;
        speed("intra.pcie_gb_per_s", intra.pcie_gb_per_s)?;
        speed("host.link_gb_per_s", self.host.link_gb_per_s)?;
        if self.nodes == Some(0) {
            return error("nodes", "0 nodes: give at least 1, or leave it out".to_owned());
        }
        if let Some(usable) = intra.usable_gb_per_s.filter(|usable| *usable > intra.gb_per_s) {
            let message =
                format!("{usable} is above the rated {}: give the usable part of it", intra.gb_per_s);
            return error("intra.usable_gb_per_s", message);
        }
        if intra.domain_nodes == 0 {
            return error(
                "intra.domain_nodes",
                "0 nodes: give 1 for a node of its own, 18 for NVL72".to_owned(),
            );
        }
        match intra.link {
            Link::Mesh if intra.peer_gb_per_s.is_none() => {
                let message = "a mesh needs the bandwidth between two devices: give GB/s of one direction";
                return error("intra.peer_gb_per_s", message.to_owned());
            }
            Link::Pairs if intra.pcie_gb_per_s.is_none() => {
                let message = "pairs need the bandwidth between them: give GB/s of one direction";
                return error("intra.pcie_gb_per_s", message.to_owned());
            }
            Link::Torus => {
                let devices = intra.axes.iter().fold(1u64, |all, axis| all.saturating_mul((*axis).into()));
                if intra.axes.is_empty() || devices != u64::from(self.devices_per_node) {
                    let message = format!(
                        "{:?} do not multiply to the slice's {} devices: give the length of each axis",
                        intra.axes, self.devices_per_node
                    );
                    return error("intra.axes", message);
                }
            }
            _ => {}
        }
        if intra.link != Link::Torus && self.generation.is_none() {
            let message =
                "missing: give volta, ampere, hopper, blackwell or cdna, whichever the device is nearest to";
            return error("generation", message.to_owned());
        }
        if !(self.host.dispatch_us >= 0.0 && self.host.dispatch_us <= 1e6) {
            let message =
                format!("{} us is not possible: give the time to enqueue a kernel", self.host.dispatch_us);
            return error("host.dispatch_us", message);
        }
        if intra.hop_us.is_some_and(|hop| !(0.0..=1e6).contains(&hop)) {
            return error("intra.hop_us", "not possible: give the time of one hop in us, about 1".to_owned());
        }
        let Some(network) = &self.network else { return Ok(()) };
        if network.nics_per_node == 0 {
            let message = "0 adapters: leave `network` out for a job that stays in its node".to_owned();
            return error("network.nics_per_node", message);
        }
        speed("network.nic_gb_per_s", Some(network.nic_gb_per_s))?;
        if !(0.0..=1e6).contains(&network.latency_us) {
            let message = format!("{} us is not possible: give 0, or 75 for EFA", network.latency_us);
            return error("network.latency_us", message);
        }
        if !(1.0..=1e3).contains(&network.oversubscription) {
            let message =
                format!("{} is not possible: 1 is a full fabric, 2 carries half", network.oversubscription);
            return error("network.oversubscription", message);
        }
        if network.pod_nodes == Some(0) {
            return error("network.pod_nodes", "0 nodes: give at least 1 or leave it out".to_owned());
        }
        Ok(())
    }
}
