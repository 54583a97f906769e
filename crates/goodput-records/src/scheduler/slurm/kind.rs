//! What a file is that was given in another's place, as far as its first line tells.

/// What the file is, and what to do with it; `None` when its first line is like none of those that are known.
///
/// A listing that begins like this one is expected where `option` is, so that is no answer there.
pub(super) fn other_kind(first_line: &[u8], option: &str) -> Option<(&'static str, String)> {
    let text = String::from_utf8_lossy(first_line);
    let text = text.trim_start();
    let (what, right_option) = kind(text)?;
    match right_option {
        Some(right) if right == option => None,
        Some(right) => Some((what, format!("give it with {right}"))),
        None => Some((what, "leave it out".to_owned())),
    }
}

fn kind(text: &str) -> Option<(&'static str, Option<&'static str>)> {
    let has = |name: &str| {
        let names = text.split(['|', '\x1f', '\t', ';', ',']).flat_map(|cell| cell.split("  "));
        names.map(|word| word.trim().replace(' ', "")).any(|word| word.eq_ignore_ascii_case(name))
    };
    let has_all = |names: &[&str]| names.iter().all(|name| has(name));
    Some(match () {
        () if text.starts_with("NodeName=") => ("this is `scontrol show node`", Some("--nodes")),
        () if text.starts_with("ReservationName=") => {
            ("this is `scontrol show reservation`", Some("--reservations"))
        }
        () if text.starts_with("PartitionName=") => ("this is `scontrol show partition`", None),
        () if text.contains("JobId=") => {
            ("this is scontrol's or the job completion plugin's output, not the accounting's", None)
        }
        () if text.starts_with("----") => ("this is an sreport", None),
        () if text.starts_with("{\"t0\"") || text.starts_with("# 1") => {
            ("these are snapshots", Some("--snapshots"))
        }
        () if text.starts_with("{\"goodput_timeline\"") => ("this is a job's own log", Some("--timeline")),
        () if has_all(&["id_job", "time_submit"]) || has_all(&["job_db_inx", "time_start"]) => {
            ("this is a table of the accounting database", Some("--tables"))
        }
        () if has("TRES_PER_NODE") || has("NODELIST(REASON)") => {
            ("this is `squeue`, which tells only what waits or runs at one moment", None)
        }
        () if has_all(&["JobID", "State"]) || has_all(&["JobIDRaw", "State"]) => {
            ("this is a job table of `sacct`", Some("--sacct"))
        }
        () if has_all(&["NodeName", "TimeStart"]) => ("this is `sacctmgr show event`", Some("--events")),
        () if has_all(&["Name", "TimeStart"]) => {
            ("this is `sacctmgr show reservation`", Some("--reservations"))
        }
        () => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(
        "Cluster|Cluster Nodes|CPU Cnt|Duration|TimeEnd|Event|NodeName|Reason|TimeStart",
        "--sacct",
        "--events"
    )]
    #[case(
        "   Cluster        NodeName           TimeStart             TimeEnd  State ",
        "--sacct",
        "--events"
    )]
    #[case("JobID\u{1f}JobIDRaw\u{1f}State", "--events", "--sacct")]
    #[case("NodeName=a100-1 Arch=x86_64", "--sacct", "--nodes")]
    #[case("Cluster|Name|TRES|TimeStart|TimeEnd|UnusedWall", "--events", "--reservations")]
    #[case("{\"t0\": 1.5, \"t1\": 1.6}", "--nodes", "--snapshots")]
    fn a_file_in_anothers_place_is_named(#[case] line: &str, #[case] given: &str, #[case] right: &str) {
        let (_, remedy) = other_kind(line.as_bytes(), given).unwrap();
        assert_eq!(remedy, format!("give it with {right}"));
        assert_eq!(other_kind(line.as_bytes(), right), None);
    }
}
