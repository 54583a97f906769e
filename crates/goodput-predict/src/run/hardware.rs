//! The cluster in RUN.yaml: a known one, one of one's own, or a known one with what differs; its device likewise.

use goodput_model::device::{Catalogue, Device};
use serde_json::{Map, Value, json};

use super::keys::{self, FieldError};
use crate::cluster::{Cluster, Clusters};

const KEYS: &[&str] = &[
    "like",
    "name",
    "aliases",
    "device",
    "devices_per_node",
    "nodes",
    "generation",
    "intra",
    "network",
    "cpu",
    "host",
    "board",
    "sources",
];

pub(super) fn cluster(label: &str, value: &Value) -> Result<Cluster, FieldError> {
    let known = |name: &str, field: &str| {
        Clusters::built_in().find(name).map_err(|error| FieldError::new(field, error))
    };
    let Value::Object(stated) = value else {
        let Value::String(name) = value else {
            let message = format!("found {value}, expected a known cluster's name or a mapping");
            return Err(FieldError::new("cluster", message));
        };
        return known(name, "cluster").cloned();
    };
    let mut stated = stated.clone();
    let mut described = Map::new();
    if let Some(like) = stated.remove("like") {
        let name = like.as_str().unwrap_or_default();
        let found = known(name, "cluster.like")?;
        described = Clusters::described(&found.name).unwrap_or_default();
        described.insert("name".to_owned(), format!("{} (changed)", found.name).into());
        described.remove("aliases");
    }
    merge(&mut described, stated);
    let own_device = match described.get("device") {
        Some(Value::Object(device)) => Some(device_of(label, device.clone())?),
        _ => None,
    };
    if let Some(device) = &own_device {
        described.insert("device".to_owned(), device.name.clone().into());
    }
    described.entry("name").or_insert_with(|| "own cluster".into());
    let mut cluster: Cluster = keys::read("cluster", &Value::Object(described), KEYS)?;
    cluster.own_device = own_device.map(Box::new);
    cluster.check(label).map_err(|error| FieldError::new("cluster", error))?;
    Ok(cluster)
}

/// Writes what is stated over what is known; `null` takes a field away.
fn merge(known: &mut Map<String, Value>, stated: Map<String, Value>) {
    for (key, value) in stated {
        match (known.get_mut(&key), value) {
            (Some(Value::Object(ours)), Value::Object(theirs)) if key != "device" => merge(ours, theirs),
            (_, Value::Null) => {
                known.remove(&key);
            }
            (_, value) => {
                known.insert(key, value);
            }
        }
    }
}

/// A device in the fields of a device file (docs/devices.md). Its name is its only phrase, unless `names` says otherwise.
fn device_of(label: &str, mut device: Map<String, Value>) -> Result<Device, FieldError> {
    let name = device.get("name").and_then(Value::as_str).unwrap_or("own device").to_owned();
    let defaults = [("name", json!(name)), ("names", json!([name])), ("vendor", json!("own"))];
    for (key, value) in defaults.into_iter().chain([("source", json!("stated in the run"))]) {
        device.entry(key).or_insert(value);
    }
    let text = json!({ "devices": [device] }).to_string();
    let read = Catalogue::default().with_yaml(label, &text);
    let catalogue = read.map_err(|error| FieldError::new("cluster.device", error))?;
    catalogue
        .devices()
        .first()
        .cloned()
        .ok_or_else(|| FieldError::new("cluster.device", "is empty: give name and dense_peaks"))
}
