//! Which rank each trace of a set is of: as the user states, as the trace says, as its process groups imply, as its
//! file's name says, in this order. Never by the device: rank 0 may run on device 2.

use std::path::{Path, PathBuf};

use super::same_file;
use crate::reading::ReadError;
use crate::trace::{Identity, ProcessGroup, RankEvidence, RankTrace};

/// Settles the ranks of a set and sorts by them.
pub(super) fn settle(traces: &mut [RankTrace], stated: &[(PathBuf, u32)]) -> Result<(), ReadError> {
    for (path, rank) in stated {
        state(traces, path, *rank)?;
    }
    for trace in traces.iter_mut().filter(|trace| trace.identity.rank.is_none()) {
        let name = from_path(&trace.path).filter(|_| trace.identity.part.is_none());
        let found = [
            (from_groups(&trace.identity.groups), RankEvidence::ProcessGroups),
            (name, RankEvidence::FileName),
        ];
        if let Some((rank, evidence)) = found.into_iter().find_map(|(rank, evidence)| Some((rank?, evidence)))
        {
            trace.identity.rank = Some(rank);
            trace.identity.evidence = evidence;
        }
    }
    if let [only] = traces
        && only.identity.rank.is_none()
    {
        only.identity.evidence = RankEvidence::OnlyTrace;
    }
    traces.sort_by_key(|trace| trace.identity.rank);
    check(traces)
}

/// The file is stated as it was given or found, or by the end of its path where only one trace ends so: `rank0/a.json`
/// or `a.json` within a directory.
fn state(traces: &mut [RankTrace], path: &Path, rank: u32) -> Result<(), ReadError> {
    let is_exact = traces.iter().any(|trace| same_file(&trace.path, path));
    let is_meant = |trace: &&mut RankTrace| match is_exact {
        true => same_file(&trace.path, path),
        false => !path.as_os_str().is_empty() && trace.path.ends_with(path),
    };
    let mut of_file = traces.iter_mut().filter(is_meant);
    let problem = match (of_file.next(), of_file.next()) {
        (Some(trace), None) => {
            trace.identity =
                Identity { rank: Some(rank), evidence: RankEvidence::Stated, ..trace.identity.clone() };
            return Ok(());
        }
        (None, _) => {
            let first = traces.first().map(|trace| format!(" (the first is {})", trace.path.display()));
            format!(
                "rank {rank} is stated for it, but it is none of the traces given{}",
                first.unwrap_or_default()
            )
        }
        (Some(first), Some(second)) if first.path == second.path => {
            format!("rank {rank} is stated for it, but it holds the traces of several processes")
        }
        (Some(first), Some(second)) => format!(
            "rank {rank} is stated for it, but it may be {} or {}: give more of the path",
            first.path.display(),
            second.path.display()
        ),
    };
    Err(ReadError::Format { path: path.to_owned(), problem })
}

/// No two traces may claim a rank, and none of several files may lack one. Traces of a single file are told apart by
/// their part where it names no ranks.
fn check(traces: &[RankTrace]) -> Result<(), ReadError> {
    if let Some(unknown) = traces.iter().find(|trace| trace.identity.rank.is_none())
        && let Some(other) = traces.iter().find(|trace| trace.path != unknown.path)
    {
        return Err(ReadError::NoRank { path: unknown.path.clone(), other: other.path.clone() });
    }
    for pair in traces.windows(2) {
        if let ([first, second], Some(rank)) = (pair, pair[0].identity.rank)
            && second.identity.rank == Some(rank)
        {
            return Err(ReadError::SameRank { rank, first: first.path.clone(), second: second.path.clone() });
        }
    }
    Ok(())
}

/// The only member that all groups share: a process is in every group that its trace lists.
fn from_groups(groups: &[ProcessGroup]) -> Option<u32> {
    let mut listed = groups.iter().filter(|group| !group.ranks.is_empty());
    let mut shared = listed.next()?.ranks.clone();
    for group in listed {
        shared.retain(|rank| group.ranks.contains(rank));
    }
    shared.sort_unstable();
    shared.dedup();
    if let [rank] = shared[..] { Some(rank) } else { None }
}

/// `rank3`, `rank-3`, `rank_3`, `worker3` or a last `_3` in the file's name, else `rank3` in its directory's.
fn from_path(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let directory = || {
        Some(path.parent()?.file_name()?.to_string_lossy().to_ascii_lowercase())
            .and_then(|name| after(&name, "rank"))
    };
    after(&name, "rank").or_else(|| after(&name, "worker")).or_else(|| at_end(&name)).or_else(directory)
}

/// The number after a word.
fn after(name: &str, word: &str) -> Option<u32> {
    name.match_indices(word).find_map(|(at, _)| {
        let is_word = !name[..at].ends_with(|c: char| c.is_ascii_alphabetic());
        let rest = &name[at + word.len()..];
        let digits = rest.strip_prefix(['-', '_', '.', '=']).unwrap_or(rest);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok().filter(|_| is_word)
    })
}

/// The number after the last underscore, before the endings.
fn at_end(name: &str) -> Option<u32> {
    const ENDINGS: [&str; 10] =
        [".gz", ".zst", ".tmp", ".json", ".trace", ".pt", ".chrome", ".sqlite", ".pb", ".xplane"];
    let mut stem = name;
    while let Some(shorter) = ENDINGS.iter().find_map(|ending| stem.strip_suffix(ending)) {
        stem = shorter;
    }
    let digits = stem.rsplit_once('_')?.1;
    digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Format;
    use crate::trace::{Epoch, TraceBuilder};
    use rstest::rstest;

    fn trace(path: &str, rank: Option<u32>, groups: &[&[u32]]) -> RankTrace {
        let group = |ranks: &&[u32]| ProcessGroup {
            name: String::new(),
            description: String::new(),
            ranks: ranks.to_vec(),
            size: None,
        };
        let mut builder = TraceBuilder::default();
        builder.identity =
            Some(Identity { rank, groups: groups.iter().map(group).collect(), ..Identity::UNKNOWN });
        builder.finish(Path::new(path), Format::Chrome, Epoch::Own)
    }

    fn settled(
        mut traces: Vec<RankTrace>,
        stated: &[(&str, u32)],
    ) -> Result<Vec<(Option<u32>, RankEvidence)>, ReadError> {
        let stated: Vec<_> = stated.iter().map(|&(path, rank)| (PathBuf::from(path), rank)).collect();
        settle(&mut traces, &stated)?;
        Ok(traces.iter().map(|trace| (trace.identity.rank, trace.identity.evidence)).collect())
    }

    #[rstest]
    #[case("rank3.json", Some(3))]
    #[case("rank-3.json.gz", Some(3))]
    #[case("trace_rank_12_step5.json", Some(12))]
    #[case("Rank7.json", Some(7))]
    #[case("worker0_step_12.1694128201545.pt.trace.json", Some(0))]
    #[case("trace_3.json", Some(3))]
    #[case("trace_3.pt.trace.json.gz", Some(3))]
    #[case("profile/rank5/trace.json", Some(5))]
    #[case("node7_4037.1694128201545.pt.trace.json", None)]
    #[case("crank3.json", None)]
    #[case("ranks.json", None)]
    #[case("trace3.json", None)]
    #[case("trace_v3.json", None)]
    #[case("rank99999999999.json", None)]
    fn names_of_files(#[case] path: &str, #[case] expected: Option<u32>) {
        assert_eq!(from_path(Path::new(path)), expected);
    }

    #[test]
    fn metadata_come_before_groups_and_groups_before_names() {
        let traces = vec![
            trace("rank9.json", Some(2), &[]),
            trace("rank8.json", None, &[&[0, 1, 2, 3], &[1, 3], &[0, 1]]),
            trace("rank0.json", None, &[&[0, 1, 2, 3]]),
        ];
        assert_eq!(
            settled(traces, &[]).unwrap(),
            [
                (Some(0), RankEvidence::FileName),
                (Some(1), RankEvidence::ProcessGroups),
                (Some(2), RankEvidence::None)
            ]
        );
    }

    #[test]
    fn one_trace_needs_no_rank() {
        assert_eq!(
            settled(vec![trace("a.json", None, &[])], &[]).unwrap(),
            [(None, RankEvidence::OnlyTrace)]
        );
    }

    #[test]
    fn of_several_each_needs_one() {
        let error = settled(vec![trace("a.json", None, &[]), trace("b.json", None, &[])], &[]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("a.json") && text.contains("b.json") && text.contains("--rank"), "{text}");
    }

    #[test]
    fn no_rank_is_overwritten() {
        let error =
            settled(vec![trace("a.json", Some(1), &[]), trace("rank1.json", None, &[])], &[]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("a.json") && text.contains("rank1.json") && text.contains("rank 1"), "{text}");
    }

    #[test]
    fn the_user_has_the_last_word() {
        let traces = || vec![trace("a.json", Some(1), &[]), trace("b.json", Some(1), &[])];
        assert_eq!(
            settled(traces(), &[("b.json", 0)]).unwrap(),
            [(Some(0), RankEvidence::Stated), (Some(1), RankEvidence::None)]
        );
        assert!(settled(traces(), &[("c.json", 0)]).unwrap_err().to_string().contains("c.json"));
        let parts = vec![trace("a.sqlite", None, &[]), trace("a.sqlite", None, &[])];
        assert!(settled(parts, &[("a.sqlite", 0)]).unwrap_err().to_string().contains("several processes"));
    }

    #[test]
    fn a_file_within_a_directory_is_stated_by_the_end_of_its_path() {
        let traces =
            || ["t/d1/a.json", "t/d2/a.json", "t/ab.json"].map(|path| trace(path, None, &[])).to_vec();
        let stated = |names: [&str; 3]| {
            let mut traces = traces();
            let stated: Vec<_> =
                names.iter().zip(0..).map(|(name, rank)| (PathBuf::from(name), rank)).collect();
            settle(&mut traces, &stated).map(|()| traces)
        };
        let found = stated(["d2/a.json", "ab.json", "t/d1/a.json"]).unwrap();
        let paths: Vec<_> = found.iter().map(|trace| trace.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["t/d2/a.json", "t/ab.json", "t/d1/a.json"]);
        let unclear = stated(["a.json", "ab.json", "d1/a.json"]).unwrap_err().to_string();
        assert!(unclear.contains("t/d1/a.json") && unclear.contains("t/d2/a.json"), "{unclear}");
        // Whole names only.
        assert!(stated(["b.json", "d1/a.json", "d2/a.json"]).unwrap_err().to_string().contains("none of"));
        assert!(stated(["", "d1/a.json", "d2/a.json"]).is_err());
    }

    #[test]
    fn parts_of_one_file_need_no_rank() {
        let parts = vec![trace("a.sqlite", None, &[]), trace("a.sqlite", None, &[])];
        assert_eq!(settled(parts, &[]).unwrap().len(), 2);
    }
}
