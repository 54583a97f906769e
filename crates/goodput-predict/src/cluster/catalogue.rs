//! The clusters that come with this crate, and a site's own.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::{Cluster, ClusterError, yaml};

/// Known clusters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Clusters {
    clusters: Vec<Cluster>,
}

/// No cluster has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no cluster called {name:?} is known; known are {}; or write one out under `cluster:`", .known.join(", "))]
pub struct UnknownCluster {
    /// The name as given.
    pub name: String,
    /// The names that are known.
    pub known: Vec<String>,
}

impl Clusters {
    /// Those of `data/cluster/clusters.yaml`.
    #[must_use]
    pub fn built_in() -> &'static Self {
        // A test reads the file, so that the empty catalogue is never seen.
        static BUILT_IN: LazyLock<Clusters> = LazyLock::new(|| {
            let text = include_str!("../../data/cluster/clusters.yaml");
            Clusters::default().with_yaml("clusters.yaml", text).unwrap_or_default()
        });
        &BUILT_IN
    }

    /// A known cluster as the file describes it, field by field.
    pub(crate) fn described(name: &str) -> Option<Map<String, Value>> {
        static FILE: LazyLock<Value> = LazyLock::new(|| {
            serde_saphyr::from_str(include_str!("../../data/cluster/clusters.yaml")).unwrap_or_default()
        });
        let clusters = FILE.get("clusters")?.as_array()?;
        let found = clusters.iter().find(|cluster| cluster.get("name").is_some_and(|known| known == name));
        found?.as_object().cloned()
    }

    /// These and those of a file: `clusters:` with a list. A cluster of the same name replaces ours.
    ///
    /// # Errors
    /// As [`Cluster::from_yaml`].
    pub fn with_yaml(mut self, label: &str, text: &str) -> Result<Self, ClusterError> {
        for cluster in yaml::read_all(label, text)? {
            self.clusters.retain(|known| !known.name.eq_ignore_ascii_case(&cluster.name));
            self.clusters.push(cluster);
        }
        Ok(self)
    }

    /// The cluster of a name or alias, in any case.
    ///
    /// # Errors
    /// [`UnknownCluster`] with the names that are known.
    pub fn find(&self, name: &str) -> Result<&Cluster, UnknownCluster> {
        let is_called = |cluster: &&Cluster| {
            let mut names = cluster.aliases.iter().chain([&cluster.name]);
            names.any(|known| known.eq_ignore_ascii_case(name.trim()))
        };
        self.clusters.iter().find(is_called).ok_or_else(|| UnknownCluster {
            name: name.to_owned(),
            known: self.clusters.iter().map(|cluster| cluster.name.clone()).collect(),
        })
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Cluster> {
        self.clusters.iter()
    }
}

#[cfg(test)]
mod tests {
    use goodput_model::device::Catalogue;

    use super::*;

    #[test]
    fn every_cluster_of_the_file_names_a_known_device_and_a_source_for_each_part() {
        let text = include_str!("../../data/cluster/clusters.yaml");
        let clusters = Clusters::default().with_yaml("clusters.yaml", text).unwrap();
        assert!(clusters.clusters.len() >= 20);
        for cluster in clusters.iter() {
            let device = Catalogue::built_in().find(&cluster.device).unwrap();
            assert_eq!(device.name, cluster.device);
            for part in ["node", "intra", "network", "host"] {
                assert!(cluster.sources.contains_key(part), "{}: no source for {part}", cluster.name);
            }
            // The device catalogue's link is the same fact, stated for both directions.
            let both = device.scaleup.as_ref().and_then(|link| link.bidirectional_bytes_per_second);
            let bridged = cluster.name == "A100 PCIe bridged";
            if let Some(both) = both.filter(|_| !bridged) {
                assert!((both / 2e9 - cluster.intra.gb_per_s).abs() <= 1.0, "{}: {both}", cluster.name);
            }
        }
    }

    #[test]
    fn an_unknown_name_lists_what_is_known() {
        let error = Clusters::built_in().find("dgx z9000").unwrap_err().to_string();
        assert!(error.contains("DGX H100") && error.contains("cluster:"), "{error}");
        assert_eq!(Clusters::built_in().find(" hgx h100 ").unwrap().name, "DGX H100");
    }

    #[rstest::rstest]
    #[case("devices_per_node: 8", "devices_per_node: 0", "devices_per_node")]
    #[case("gb_per_s: 450", "gb_per_s: -1", "intra.gb_per_s")]
    #[case("nic_gb_per_s: 50", "nic_gb_per_s: 400000000000", "400 Gb/s are 50 GB/s")]
    #[case("usable_gb_per_s: 370", "usable_gb_per_s: 500", "above the rated 450")]
    #[case("link: nvswitch", "link: mesh", "intra.peer_gb_per_s")]
    #[case("link: nvswitch", "link: torus", "intra.axes")]
    #[case("generation: hopper", "generation: null", "volta, ampere")]
    #[case("nics_per_node: 8", "nics_per_node: 0", "leave `network` out")]
    #[case("nic_gb_per_s: 50", "nic_gb_per_s: 50, oversubscription: 0.5", "network.oversubscription")]
    #[case("device: H100 SXM5", "devise: H100 SXM5", "devise")]
    fn a_bad_field_is_named_with_its_remedy(#[case] good: &str, #[case] bad: &str, #[case] named: &str) {
        let text = "{name: ours, device: H100 SXM5, devices_per_node: 8, generation: hopper, \
                    intra: {link: nvswitch, gb_per_s: 450, usable_gb_per_s: 370}, \
                    network: {nics_per_node: 8, nic_gb_per_s: 50}}";
        Cluster::from_yaml("ours.yaml", text).unwrap();
        assert!(text.contains(good));
        let error = Cluster::from_yaml("ours.yaml", &text.replace(good, bad)).unwrap_err().to_string();
        assert!(error.contains("ours.yaml") && error.contains(named), "{error}");
    }
}
