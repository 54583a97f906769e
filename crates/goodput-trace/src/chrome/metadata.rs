//! What stands beside the events: the rank, the base time, the devices, versions. Keys may come before or after the events.

use serde_json::Value;

use crate::json::{Scanner, integer};
use crate::trace::{DeviceInfo, Identity, ProcessGroup, RankEvidence};

/// Metadata of a trace, as far as it has been read.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    /// `baseTimeNanoseconds`: what every stamp counts from.
    pub base_ns: i64,
    /// `distributedInfo`.
    pub identity: Option<Identity>,
    /// `deviceProperties`.
    pub devices: Vec<DeviceInfo>,
    /// `cuda_runtime_version`, `hip_runtime_version`, and NCCL's of `distributedInfo`.
    pub software: Vec<(&'static str, String)>,
    /// `host_name`.
    pub host: Option<String>,
}

impl Metadata {
    /// Whether a key of the document is one that [`Metadata::set`] takes.
    pub fn knows(key: &[u8]) -> bool {
        matches!(
            key,
            b"baseTimeNanoseconds"
                | b"distributedInfo"
                | b"deviceProperties"
                | b"cuda_runtime_version"
                | b"hip_runtime_version"
                | b"host_name"
                | b"hostname"
        )
    }

    /// Takes a value, as it is spelled; `false` when it is not what it should be.
    pub fn set(&mut self, key: &[u8], raw: &[u8]) -> bool {
        if key == b"baseTimeNanoseconds" {
            let value = Scanner::new(raw).value().map_or(raw, |value| value.scalar());
            let base_ns = integer(value).filter(|ns| (0..1 << 62).contains(ns));
            self.base_ns = base_ns.unwrap_or(self.base_ns);
            return base_ns.is_some();
        }
        let Ok(value) = serde_json::from_str::<Value>(&String::from_utf8_lossy(raw)) else { return false };
        match key {
            b"distributedInfo" => {
                self.identity = Some(identity(&value));
                let nccl = value.get("nccl_version").and_then(Value::as_str).map(str::to_owned);
                self.software
                    .extend(nccl.filter(|version| is_version(version)).map(|version| ("nccl", version)));
            }
            // What is no version is not known: other figures rest on none.
            b"cuda_runtime_version" => {
                // 12040 is 12.4.
                let version = version(&value, |number| format!("{}.{}", number / 1000, number % 1000 / 10));
                self.software.extend(version.map(|version| ("cuda", version)));
            }
            b"hip_runtime_version" => {
                // 60443483 is 6.4.43483.
                let spelled = |n: u64| format!("{}.{}.{}", n / 10_000_000, n / 100_000 % 100, n % 100_000);
                self.software.extend(version(&value, spelled).map(|version| ("hip", version)));
            }
            b"deviceProperties" => {
                self.devices = value.as_array().into_iter().flatten().filter_map(device).collect();
            }
            _ => self.host = value.as_str().filter(|host| !host.is_empty()).map(str::to_owned),
        }
        true
    }

    /// Who the trace is of.
    pub fn identity(&self) -> Identity {
        let known = self.identity.clone().unwrap_or(Identity::UNKNOWN);
        Identity { host: known.host.or_else(|| self.host.clone()), ..known }
    }
}

/// A version as a text, or as the one number that a runtime gives.
fn version(value: &Value, spelled: impl Fn(u64) -> String) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| is_version(text)),
        Value::Number(number) => number.as_u64().filter(|&number| number >= 1000).map(spelled),
        _ => None,
    }
}

/// Digits and dots in front, and nothing that a list of versions is divided by.
fn is_version(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && !text.contains([' ', ','])
}

fn identity(info: &Value) -> Identity {
    let rank = whole(info.get("rank"));
    Identity {
        rank,
        evidence: if rank.is_some() { RankEvidence::Metadata } else { RankEvidence::None },
        world_size: whole(info.get("world_size")),
        groups: info.get("pg_config").and_then(Value::as_array).into_iter().flatten().map(group).collect(),
        host: text(info.get("hostname")),
        part: None,
    }
}

fn group(config: &Value) -> ProcessGroup {
    let ranks = match config.get("ranks") {
        // Some versions write the list as a string.
        Some(Value::String(list)) => serde_json::from_str(list).ok(),
        Some(list) => serde_json::from_value(list.clone()).ok(),
        None => None,
    };
    ProcessGroup {
        name: text(config.get("pg_name")).unwrap_or_default(),
        // Older versions have a `uid` instead.
        description: text(config.get("pg_desc")).or_else(|| text(config.get("uid"))).unwrap_or_default(),
        ranks: ranks.unwrap_or_default(),
        size: whole(config.get("pg_size")),
    }
}

fn device(properties: &Value) -> Option<DeviceInfo> {
    Some(DeviceInfo {
        id: properties.get("id")?.as_i64()?,
        name: text(properties.get("name")).unwrap_or_default(),
        memory_bytes: properties.get("totalGlobalMem").and_then(Value::as_u64),
        processors: whole(properties.get("numSms")),
    })
}

fn whole(value: Option<&Value>) -> Option<u32> {
    match value? {
        Value::Number(number) => number.as_u64().and_then(|number| number.try_into().ok()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_where_and_since_when() {
        let mut metadata = Metadata::default();
        assert!(metadata.set(b"baseTimeNanoseconds", b"1711964646000000000"));
        assert!(metadata.set(
            b"distributedInfo",
            br#"{"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [
                {"pg_name": "0", "pg_desc": "default_pg", "pg_size": 8, "ranks": [0,1,2,3,4,5,6,7]},
                {"pg_name": "1", "uid": 5, "pg_size": 2, "ranks": "[2, 3]"}]}"#,
        ));
        assert!(metadata.set(
            b"deviceProperties",
            br#"[{"id": 2, "name": "A100", "totalGlobalMem": 42297524224, "numSms": 108}, {"name": "no id"}]"#,
        ));
        assert!(metadata.set(b"host_name", b"\"node7\""));
        assert_eq!(metadata.base_ns, 1_711_964_646_000_000_000);
        let identity = metadata.identity();
        assert_eq!((identity.rank, identity.world_size), (Some(3), Some(8)));
        assert_eq!(identity.evidence, RankEvidence::Metadata);
        assert_eq!(identity.groups[0].ranks.len(), 8);
        assert_eq!(identity.groups[1].ranks, [2, 3]);
        assert_eq!(identity.groups[1].description, "5");
        assert_eq!(identity.host.as_deref(), Some("node7"));
        assert_eq!(metadata.devices.len(), 1);
        assert_eq!(metadata.devices[0].processors, Some(108));
    }

    #[test]
    fn versions_as_texts_and_as_numbers() {
        let mut metadata = Metadata::default();
        assert!(metadata.set(b"cuda_runtime_version", b"12040"));
        assert!(metadata.set(b"hip_runtime_version", b"60443483"));
        assert!(metadata.set(b"distributedInfo", br#"{"nccl_version": "2.17.1"}"#));
        let known = [("cuda", "12.4"), ("hip", "6.4.43483"), ("nccl", "2.17.1")];
        assert_eq!(metadata.software, known.map(|(name, version)| (name, version.to_owned())));
        let mut none = Metadata::default();
        for odd in [&b"\"N/A\""[..], b"null", b"0", b"-1", b"\"\""] {
            assert!(none.set(b"cuda_runtime_version", odd) && none.set(b"hip_runtime_version", odd));
        }
        assert!(none.set(b"cuda_runtime_version", b"\"12.8.93\""));
        assert_eq!(none.software, [("cuda", "12.8.93".to_owned())]);
    }

    #[test]
    fn values_of_the_wrong_kind_are_refused() {
        let mut metadata = Metadata::default();
        assert!(!metadata.set(b"baseTimeNanoseconds", b"soon"));
        assert!(!metadata.set(b"distributedInfo", b"{"));
        assert_eq!(metadata.identity(), Identity::UNKNOWN);
    }
}
