//! Rows of rocprofv3's JSON: objects of which a few figures, at most two levels down, matter.

use crate::json::{Scan, Scanner, decode, integer};

/// One record of any buffer. What a buffer does not have, or what is no whole number, is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub start_ns: Option<i64>,
    pub end_ns: Option<i64>,
    pub thread: Option<i64>,
    /// `correlation_id.internal`: ties device work to the call that enqueued it.
    pub correlation: Option<u64>,
    /// Index into the names of record kinds, and of an operation within its kind.
    pub kind: Option<i64>,
    pub operation: Option<i64>,
    /// `dispatch_info`: the kernel, and the agent and queue that it ran on.
    pub kernel: Option<i64>,
    pub agent: Option<i64>,
    pub queue: Option<i64>,
    /// Of a copy.
    pub source: Option<i64>,
    pub destination: Option<i64>,
    pub bytes: Option<u64>,
}

impl Row {
    /// The next value as a row. Anything but an object is a row without figures.
    pub fn scan(scanner: &mut Scanner<'_>) -> Scan<Self> {
        let mut row = Self::default();
        leaves(scanner, |parent, key, value| {
            let number = || integer(value);
            match (parent, key) {
                (b"", b"start_timestamp") => row.start_ns = number(),
                (b"", b"end_timestamp") => row.end_ns = number(),
                (b"", b"thread_id") => row.thread = number(),
                (b"", b"kind") => row.kind = number(),
                (b"", b"operation") => row.operation = number(),
                (b"", b"bytes") => row.bytes = number().and_then(|bytes| bytes.try_into().ok()),
                // 0 is no correlation.
                (b"correlation_id", b"internal") => {
                    row.correlation = number().and_then(|id| id.try_into().ok()).filter(|&id| id != 0);
                }
                (b"dispatch_info", b"kernel_id") => row.kernel = number(),
                (b"agent_id", b"handle") => row.agent = number(),
                (b"queue_id", b"handle") => row.queue = number(),
                (b"src_agent_id", b"handle") => row.source = number(),
                (b"dst_agent_id", b"handle") => row.destination = number(),
                _ => {}
            }
        })?;
        Ok(row)
    }
}

/// A kernel's id with the best of its names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KernelSymbol {
    pub id: Option<i64>,
    pub name: String,
}

impl KernelSymbol {
    /// The next value as a symbol.
    pub fn scan(scanner: &mut Scanner<'_>) -> Scan<Self> {
        let mut id = None;
        let mut names = [const { String::new() }; 4];
        leaves(scanner, |parent, key, value| {
            let place = match (parent, key) {
                (b"", b"kernel_id") => return id = integer(value),
                (b"", b"formatted_kernel_name") => 0,
                (b"", b"demangled_kernel_name") => 1,
                (b"", b"truncated_kernel_name") => 2,
                (b"", b"kernel_name") => 3,
                _ => return,
            };
            names[place] = decode(value).text.trim_end_matches(".kd").to_owned();
        })?;
        // The tool writes "0" where it has no name.
        let name = names.into_iter().find(|name| !name.is_empty() && name != "0").unwrap_or_default();
        Ok(Self { id, name })
    }
}

/// A processor of the node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Agent {
    pub handle: Option<i64>,
    pub is_gpu: bool,
    /// Index among the GPUs that the process saw.
    pub gpu_index: Option<i64>,
    pub product_name: String,
    pub compute_units: Option<u32>,
    pub memory_bytes: Option<u64>,
}

impl Agent {
    /// The next value as an agent.
    pub fn scan(scanner: &mut Scanner<'_>) -> Scan<Self> {
        /// `rocprofiler_agent_type_t`.
        const GPU: i64 = 2;
        let mut agent = Self::default();
        leaves(scanner, |parent, key, value| match (parent, key) {
            (b"id", b"handle") => agent.handle = integer(value),
            (b"", b"type") => agent.is_gpu = integer(value) == Some(GPU),
            (b"", b"gpu_index") => agent.gpu_index = integer(value).filter(|&index| index >= 0),
            (b"", b"product_name") => agent.product_name = decode(value).text.into_owned(),
            (b"", b"cu_count") => {
                agent.compute_units = integer(value).and_then(|count| count.try_into().ok())
            }
            // The first memory bank is the device's own.
            (b"mem_banks", b"size_in_bytes") if agent.memory_bytes.is_none() => {
                agent.memory_bytes = integer(value).and_then(|bytes| bytes.try_into().ok());
            }
            _ => {}
        })?;
        Ok(agent)
    }
}

/// The names of one kind of records.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KindNames {
    pub kind: String,
    pub operations: Vec<String>,
}

impl KindNames {
    /// The next value as the names of a kind.
    pub fn scan(scanner: &mut Scanner<'_>) -> Scan<Self> {
        let mut names = Self::default();
        leaves(scanner, |parent, key, value| match (parent, key) {
            (b"", b"kind") => names.kind = decode(value).text.into_owned(),
            (b"operations", _) => names.operations.push(decode(value).text.into_owned()),
            _ => {}
        })?;
        Ok(names)
    }
}

/// The text of a marker by its correlation.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marker {
    pub key: Option<u64>,
    pub text: String,
}

impl Marker {
    /// The next value as a marker.
    pub fn scan(scanner: &mut Scanner<'_>) -> Scan<Self> {
        let mut marker = Self::default();
        leaves(scanner, |parent, key, value| match (parent, key) {
            (b"", b"key") => marker.key = integer(value).and_then(|id| id.try_into().ok()),
            (b"", b"value") => marker.text = decode(value).text.into_owned(),
            _ => {}
        })?;
        Ok(marker)
    }
}

/// What a process says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    pub pid: Option<i64>,
    pub hostname: Option<String>,
}

impl Metadata {
    /// The next value as metadata.
    pub fn scan(scanner: &mut Scanner<'_>) -> Scan<Self> {
        let mut metadata = Self::default();
        leaves(scanner, |parent, key, value| match (parent, key) {
            (b"", b"pid") => metadata.pid = integer(value),
            (b"node", b"hostname") => metadata.hostname = Some(decode(value).text.into_owned()),
            _ => {}
        })?;
        Ok(metadata)
    }
}

/// Levels of nesting that are looked into.
const MAX_DEPTH: u32 = 4;

/// Every scalar of the next value, with its key and the key that the object or list around it has.
fn leaves<'a>(scanner: &mut Scanner<'a>, mut leaf: impl FnMut(&'a [u8], &'a [u8], &'a [u8])) -> Scan<()> {
    descend(scanner, b"", b"", MAX_DEPTH, &mut leaf)
}

fn descend<'a>(
    scanner: &mut Scanner<'a>,
    parent: &'a [u8],
    key: &'a [u8],
    depth: u32,
    leaf: &mut impl FnMut(&'a [u8], &'a [u8], &'a [u8]),
) -> Scan<()> {
    match scanner.peek()? {
        b'{' if depth > 0 => {
            scanner.take();
            while let Some(member) = scanner.key()? {
                descend(scanner, key, member, depth - 1, leaf)?;
            }
        }
        b'[' if depth > 0 => {
            scanner.take();
            while scanner.item()? {
                descend(scanner, key, key, depth - 1, leaf)?;
            }
        }
        _ => leaf(parent, key, scanner.value()?.scalar()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dispatch_is_read_and_what_is_no_number_is_missing() {
        let text = br#"{"size":184,"kind":11,"operation":2,"thread_id":908,"correlation_id":{"internal":7,"external":0},
            "start_timestamp":63857982592000,"end_timestamp":"63857982594840","dispatch_info":{"agent_id":{"handle":37946},
            "queue_id":{"handle":16},"kernel_id":8,"grid_size":{"x":512,"y":1}},"stream_id":{"handle":0},"bytes":-1}"#;
        let row = Row::scan(&mut Scanner::new(text)).unwrap();
        let expected = Row {
            start_ns: Some(63_857_982_592_000),
            end_ns: Some(63_857_982_594_840),
            thread: Some(908),
            correlation: Some(7),
            kind: Some(11),
            operation: Some(2),
            kernel: Some(8),
            agent: Some(37_946),
            queue: Some(16),
            ..Row::default()
        };
        assert_eq!(row, expected);
        assert_eq!(Row::scan(&mut Scanner::new(b"[1, 2] ")).unwrap(), Row::default());
        assert_eq!(
            Row::scan(&mut Scanner::new(br#"{"start_timestamp":1.5,"end_timestamp":{"x":1}}"#)).unwrap(),
            Row::default()
        );
    }

    #[test]
    fn the_best_name_of_a_kernel_is_taken() {
        let symbol = |text: &str| KernelSymbol::scan(&mut Scanner::new(text.as_bytes())).unwrap();
        let full = symbol(
            r#"{"kernel_id":3,"kernel_name":"_Z3a.kd","formatted_kernel_name":"a(int)","demangled_kernel_name":"a(int) .kd"}"#,
        );
        assert_eq!((full.id, full.name.as_str()), (Some(3), "a(int)"));
        assert_eq!(symbol(r#"{"kernel_id":0,"kernel_name":"x.kd","formatted_kernel_name":"0"}"#).name, "x");
        assert_eq!(symbol(r#"{"kernel_id":0,"kernel_name":"","formatted_kernel_name":"0"}"#).name, "");
    }

    #[test]
    fn names_of_kinds_and_agents() {
        let names = KindNames::scan(&mut Scanner::new(
            br#"{"kind":"RCCL_API","operations":["ncclAllGather","nccl\"x"]}"#,
        ));
        assert_eq!(names.unwrap().operations, ["ncclAllGather", "nccl\"x"]);
        let agent = br#"{"id":{"handle":5},"type":2,"gpu_index":0,"product_name":"MI","cu_count":256,"mem_banks":[{"size_in_bytes":9},{"size_in_bytes":1}]}"#;
        let agent = Agent::scan(&mut Scanner::new(agent)).unwrap();
        assert_eq!(
            (agent.handle, agent.is_gpu, agent.gpu_index, agent.memory_bytes),
            (Some(5), true, Some(0), Some(9))
        );
    }
}
