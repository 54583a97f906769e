//! What an export says of its session: start, strings, devices, host, and processes.

use rusqlite::Result;
use rustc_hash::FxHashMap;

use super::Export;
use crate::trace::{DeviceInfo, Identity, RankEvidence};

/// `TARGET_INFO_SESSION_START_TIME`: the instant that stamps count from.
pub(super) fn start_time(export: &mut Export<'_>) -> Result<()> {
    let base_ns = &mut export.base_ns;
    export.tables.rows("TARGET_INFO_SESSION_START_TIME", &["utcEpochNs"], |_, row| {
        // Stamps are added to it: one that is beyond this century is none.
        *base_ns = row.integer(0).filter(|ns| (1..1 << 62).contains(ns)).unwrap_or(*base_ns);
    })
}

/// `StringIds`: the strings that names refer to.
pub(super) fn strings(export: &mut Export<'_>) -> Result<()> {
    let strings = &mut export.strings;
    export.tables.rows("StringIds", &["id", "value"], |_, row| {
        if let (Some(id), Some(text)) = (row.integer(0), row.text(1)) {
            strings.insert(id, text.into());
        }
    })
}

/// `TARGET_INFO_GPU`.
pub(super) fn devices(export: &mut Export<'_>) -> Result<()> {
    let mut known = Vec::new();
    export.tables.rows("TARGET_INFO_GPU", &["id", "name", "totalMemory", "smCount"], |_, row| {
        if let Some(id) = row.integer(0) {
            known.push(DeviceInfo {
                id,
                name: row.text(1).unwrap_or_default().into_owned(),
                memory_bytes: row.unsigned(2),
                processors: row.unsigned(3).and_then(|count| count.try_into().ok()),
            });
        }
    })?;
    for process in export.processes.traced() {
        process.builder.devices =
            known.iter().filter(|info| process.devices.contains(&info.id)).cloned().collect();
    }
    Ok(())
}

/// Names each trace after its process, with the host and, where the environment states it, the rank.
pub(super) fn identities(export: &mut Export<'_>) -> Result<()> {
    let mut names = FxHashMap::default();
    export.tables.rows("PROCESSES", &["globalPid", "name"], |_, row| {
        if let (Some(id), Some(name)) = (row.integer(0), row.text(1)) {
            names.insert(id, name.into_owned());
        }
    })?;
    let mut host = None;
    let mut environment = String::new();
    export.tables.rows("TARGET_INFO_SYSTEM_ENV", &["name", "value"], |_, row| {
        match row.text(0).as_deref() {
            Some("Hostname") => host = row.text(1).map(|text| text.into_owned()),
            Some("DeviceEnvironment") => environment = row.text(1).unwrap_or_default().into_owned(),
            _ => {}
        }
    })?;

    let processes = export.processes.traced();
    // The profiler's environment is that of the one process it started. Below a launcher of several it names none.
    let stated = if processes.len() == 1 { Stated::of(&environment) } else { Stated::default() };
    for process in processes {
        let evidence = if stated.rank.is_some() { RankEvidence::Metadata } else { RankEvidence::None };
        let identity = Identity {
            rank: stated.rank,
            world_size: stated.world_size,
            evidence,
            host: host.clone(),
            ..Identity::UNKNOWN
        };
        process.identify(names.get(&process.global_pid).map(String::as_str), identity);
    }
    Ok(())
}

/// The rank that a launcher put into the environment.
#[derive(Default)]
struct Stated {
    rank: Option<u32>,
    world_size: Option<u32>,
}

impl Stated {
    /// Variables of torch and of the MPI launchers, which name the process and not its node.
    fn of(environment: &str) -> Self {
        let value = |names: &[&str]| {
            names.iter().find_map(|name| {
                let mut entries = environment.split(';').filter_map(|entry| entry.split_once('='));
                entries.find(|(key, _)| key == name)?.1.parse().ok()
            })
        };
        Self {
            rank: value(&["RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"]),
            world_size: value(&["WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Stated;

    #[test]
    fn a_launcher_states_the_rank_in_the_environment() {
        let stated = Stated::of("LOCAL_RANK=1;RANK=9;WORLD_SIZE=16;PMI_RANK=2");
        assert_eq!((stated.rank, stated.world_size), (Some(9), Some(16)));
        let stated = Stated::of("OMPI_COMM_WORLD_RANK=3;RANK=");
        assert_eq!((stated.rank, stated.world_size), (Some(3), None));
        assert_eq!(Stated::of("MY_RANK=4").rank, None);
    }
}
