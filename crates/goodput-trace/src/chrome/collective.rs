//! The arguments of a collective, which Kineto copies from `record_param_comms` onto the kernel.

use super::names::{Names, Seen};
use crate::json::{Scan, Scanner, Value, integer};
use crate::trace::{CollectiveArgs, CollectiveKind};

use goodput_core::records::Symbols;

use crate::reading::FileReading;

/// A collective of which only the kernel's name tells.
pub(super) fn bare(kind: CollectiveKind) -> CollectiveArgs {
    CollectiveArgs {
        kind,
        group: None,
        description: None,
        ranks: None,
        group_size: None,
        sequence: None,
        in_elements: None,
        out_elements: None,
        dtype: None,
        source_rank: None,
        destination_rank: None,
    }
}

/// Reads `args` of a kernel whose own name says `by_kernel`.
pub(super) fn collective_args(
    args: &[u8],
    by_kernel: CollectiveKind,
    names: &mut Names,
    symbols: &mut Symbols,
    reading: &mut FileReading,
    at: u64,
) -> Scan<CollectiveArgs> {
    let mut collective = bare(by_kernel);
    let (mut in_split, mut out_split) = (None, None);
    let mut scanner = Scanner::new(args);
    scanner.accept(b'{')?;
    while let Some(key) = scanner.key()? {
        let value = scanner.value()?;
        let text = value.scalar();
        let mut symbol = || {
            let seen = Seen { symbols: &mut *symbols, reading: &mut *reading, at };
            (!text.is_empty()).then(|| names.text(text, seen))
        };
        match key {
            b"Collective name" => {
                let named = kind_of(&String::from_utf8_lossy(text));
                // "coalesced" and the like tell less than the kernel.
                if named != CollectiveKind::Unknown {
                    collective.kind = named;
                }
            }
            b"Process Group Name" => collective.group = symbol(),
            b"Process Group Description" => collective.description = symbol(),
            b"dtype" => collective.dtype = symbol(),
            b"Process Group Ranks" => collective.ranks = ranks(value),
            b"Group size" => collective.group_size = number(text),
            b"Seq" => collective.sequence = number(text),
            b"In msg nelems" => collective.in_elements = number(text),
            b"Out msg nelems" => collective.out_elements = number(text),
            b"In split size" => in_split = sum(value),
            b"Out split size" => out_split = sum(value),
            b"Src Rank" => collective.source_rank = number(text),
            b"Dst Rank" => collective.destination_rank = number(text),
            _ => {}
        }
    }
    collective.in_elements = collective.in_elements.or(in_split);
    collective.out_elements = collective.out_elements.or(out_split);
    Ok(collective)
}

/// The exchange that PyTorch names: `allreduce`, `_reduce_scatter_base`, `all_to_allv`, `_reduce_oop`, `send`.
fn kind_of(name: &str) -> CollectiveKind {
    match CollectiveKind::of_kernel(name) {
        CollectiveKind::Unknown if name.contains("reduce") => CollectiveKind::Reduce,
        CollectiveKind::Unknown if name.contains("send") => CollectiveKind::Send,
        CollectiveKind::Unknown if name.contains("recv") => CollectiveKind::Receive,
        kind => kind,
    }
}

fn number<T: TryFrom<i64>>(text: &[u8]) -> Option<T> {
    integer(text).and_then(|value| T::try_from(value).ok())
}

/// Members of a group: a list, or a string that spells one. A long one may be abbreviated with dots, and is then
/// of no use.
fn ranks(value: Value<'_>) -> Option<Vec<u32>> {
    numbers(value)?.into_iter().map(|rank| u32::try_from(rank).ok()).collect()
}

fn sum(value: Value<'_>) -> Option<u64> {
    let numbers = numbers(value)?;
    if numbers.is_empty() {
        return None;
    }
    numbers.into_iter().try_fold(0u64, |sum, part| sum.checked_add(u64::try_from(part).ok()?))
}

fn numbers(value: Value<'_>) -> Option<Vec<i64>> {
    let raw = match value {
        Value::Text(raw) | Value::Nested(raw) => raw.trim_ascii(),
        Value::Bare(_) => return None,
    };
    let inside = raw.strip_prefix(b"[")?.strip_suffix(b"]")?.trim_ascii();
    if inside.is_empty() {
        return Some(Vec::new());
    }
    inside.split(|&byte| byte == b',').map(|number| integer(number.trim_ascii())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Format;

    fn read(args: &str, by_kernel: CollectiveKind) -> (CollectiveArgs, Symbols) {
        let mut symbols = Symbols::new();
        let mut reading = FileReading::new("t", Format::Chrome);
        let args =
            collective_args(args.as_bytes(), by_kernel, &mut Names::default(), &mut symbols, &mut reading, 0);
        (args.unwrap(), symbols)
    }

    #[test]
    fn arguments_of_a_collective() {
        let (args, symbols) = read(
            r#"{"Collective name": "_allgather_base", "In msg nelems": 8, "Out msg nelems": 16, "Group size": 2,
                "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]", "Process Group Name": "1",
                "Process Group Description": "default_pg", "Process Group Ranks": "[4, 5]", "Seq": 7}"#,
            CollectiveKind::Unknown,
        );
        assert_eq!(args.kind, CollectiveKind::AllGather);
        assert_eq!(args.ranks, Some(vec![4, 5]));
        assert_eq!((args.in_elements, args.out_elements), (Some(8), Some(16)));
        assert_eq!((args.group_size, args.sequence), (Some(2), Some(7)));
        assert_eq!(args.group.map(|group| symbols.get(group)), Some("1"));
        assert_eq!(args.description.map(|text| symbols.get(text)), Some("default_pg"));
    }

    #[test]
    fn an_all_to_all_runs_as_sends_and_receives() {
        let (args, _) = read(
            r#"{"Collective name": "all_to_allv", "In split size": "[3, 4]", "Out split size": "[1, 2, 3]",
                "Process Group Ranks": "[0, 1, ..., 63]"}"#,
            CollectiveKind::SendReceive,
        );
        assert_eq!(args.kind, CollectiveKind::AllToAll);
        assert_eq!((args.in_elements, args.out_elements), (Some(7), Some(6)));
        assert_eq!(args.ranks, None);
    }

    #[test]
    fn names_of_exchanges() {
        for (name, kind) in [
            ("allreduce_coalesced", CollectiveKind::AllReduce),
            ("_allgather_base", CollectiveKind::AllGather),
            ("_reduce_scatter_base", CollectiveKind::ReduceScatter),
            ("all_to_all", CollectiveKind::AllToAll),
            ("_reduce_oop", CollectiveKind::Reduce),
            ("send", CollectiveKind::Send),
            ("recv", CollectiveKind::Receive),
            ("barrier", CollectiveKind::Barrier),
            ("coalesced", CollectiveKind::Unknown),
        ] {
            assert_eq!(kind_of(name), kind, "{name}");
        }
    }

    #[test]
    fn a_name_that_tells_less_than_the_kernel_is_not_believed() {
        let (args, _) = read(r#"{"Collective name": "coalesced", "Src Rank": 1}"#, CollectiveKind::Receive);
        assert_eq!(args.kind, CollectiveKind::Receive);
        assert_eq!(args.source_rank, Some(1));
    }
}
