//! Files that nobody meant to write: read or refused, never a panic, and every row accounted for.

mod support;

use proptest::prelude::*;
use support::*;

const TEXT: &[u8] = include_bytes!("data/sacct-22.05.8.txt");
const JSON: &[u8] = include_bytes!("data/sacct-24.11.5.json");

fn every_row_is_accounted_for(bytes: &[u8]) {
    let Ok((records, report)) = read_with(bytes, &utc()) else { return };
    assert_eq!(report.rows, report.used + report.refused + report.skipped.values().sum::<u64>());
    assert_eq!(report.used, records.attempts.len() as u64);
    assert!(report.repaired <= report.used);
}

/// Cuts, doubles, replaces and inserts bytes.
fn mutated(bytes: &[u8], mutations: &[(u8, usize, usize, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for &(kind, at, length, byte) in mutations {
        let at = at % bytes.len().max(1);
        let end = (at + length).min(bytes.len());
        match kind % 4 {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.extend_from_within(at..end),
            2 => bytes.insert(at.min(bytes.len()), byte),
            _ => bytes[at..end].fill(byte),
        }
    }
    bytes
}

fn mutations() -> impl Strategy<Value = Vec<(u8, usize, usize, u8)>> {
    let byte = prop_oneof![any::<u8>(), Just(b'|'), Just(b'\n'), Just(b'"'), Just(b'{'), Just(b',')];
    proptest::collection::vec((any::<u8>(), any::<usize>(), 0_usize..300, byte), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        every_row_is_accounted_for(&bytes);
        every_row_is_accounted_for(&[b"JobID|JobName|State|Submit|Start|End|AllocTRES\n".as_slice(), &bytes].concat());
        every_row_is_accounted_for(&[b"{\"jobs\": [".as_slice(), &bytes, b"]}"].concat());
    }

    #[test]
    fn damaged_text(mutations in mutations()) {
        every_row_is_accounted_for(&mutated(TEXT, &mutations));
    }

    #[test]
    fn damaged_json(mutations in mutations()) {
        every_row_is_accounted_for(&mutated(JSON, &mutations));
    }

    #[test]
    fn lines_in_any_order(seed in any::<u64>()) {
        let text = String::from_utf8_lossy(TEXT);
        let mut lines: Vec<&str> = text.lines().collect();
        let header = lines.remove(0);
        lines.sort_by_key(|line| (line.len() as u64).wrapping_mul(seed | 1).rotate_left(17));
        let (_, report) = read(format!("{header}\n{}\n", lines.join("\n")).as_bytes());
        prop_assert_eq!((report.used, report.refused), (40, 0));
    }

    /// A damaged line costs at most itself: what is lost is counted.
    #[test]
    fn a_cut_line_is_refused_and_the_others_are_used(line in 1_usize..40, keep in 0.05_f64..0.6) {
        let text = String::from_utf8_lossy(TEXT);
        let mut lines: Vec<&str> = text.lines().collect();
        let cut = lines[line].char_indices().nth((lines[line].len() as f64 * keep) as usize).map_or(0, |(at, _)| at);
        lines[line] = &lines[line][..cut];
        let (_, report) = read((lines.join("\n") + "\n").as_bytes());
        prop_assert_eq!((report.used, report.refused), (39, 1), "{:?}", report.findings);
    }
}
