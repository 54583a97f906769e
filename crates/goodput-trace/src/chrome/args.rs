//! The arguments of an event that matter.

use crate::json::{Scan, Scanner, Value, integer, is_not_finite};

/// What `args` says. Kineto writes numbers; other tools that rewrite traces turn some into strings.
#[derive(Debug, Clone, Default)]
pub(super) struct Args<'a> {
    /// `External id`: the operator.
    pub external: Option<u64>,
    /// `correlation`: ties a launch to its device work.
    pub correlation: Option<u64>,
    /// `device`.
    pub device: Option<i64>,
    /// `stream`.
    pub stream: Option<i64>,
    /// `bytes` of a copy, `Bytes` of the allocator.
    pub bytes: Option<i64>,
    /// `Input Dims`, a list as it is spelled.
    pub input_shapes: &'a [u8],
    /// `Input type`, a list as it is spelled.
    pub input_types: &'a [u8],
    /// `Concrete Inputs`, a list as it is spelled.
    pub input_values: &'a [u8],
    /// `Collective name` is among them: the whole object, for [`super::collective`].
    pub collective: Option<&'a [u8]>,
    /// `cuda_sync_kind`.
    pub sync_kind: &'a [u8],
    /// `wait_on_stream`.
    pub wait_on_stream: Option<i64>,
    /// `Device Type` of the allocator: zero is the host.
    pub device_type: Option<i64>,
    /// `Total Allocated`.
    pub allocated_bytes: Option<i64>,
    /// `Total Reserved`.
    pub reserved_bytes: Option<i64>,
    /// The key of a figure that is no number, and the figure.
    pub not_finite: Option<(&'a [u8], &'a [u8])>,
}

impl<'a> Args<'a> {
    /// Reads the object that comes next.
    pub fn scan(&mut self, scanner: &mut Scanner<'a>) -> Scan<()> {
        let args = self;
        if !scanner.accept(b'{')? {
            scanner.value()?;
            return Ok(());
        }
        let start = scanner.at() - 1;
        let mut has_collective = false;
        while let Some(key) = scanner.key()? {
            let value = scanner.value()?;
            match key {
                b"External id" | b"external id" => args.external = id(value),
                b"correlation" | b"correlation_id" => args.correlation = id(value),
                b"device" => args.device = integer(value.scalar()),
                b"stream" => args.stream = integer(value.scalar()),
                b"bytes" | b"Bytes" => args.bytes = integer(value.scalar()),
                b"Input Dims" | b"Input dims" => args.input_shapes = list(value),
                b"Input type" | b"Input Type" => args.input_types = list(value),
                b"Concrete Inputs" => args.input_values = list(value),
                b"Collective name" => has_collective = true,
                b"cuda_sync_kind" => args.sync_kind = value.scalar(),
                b"wait_on_stream" => args.wait_on_stream = integer(value.scalar()),
                b"Device Type" => args.device_type = integer(value.scalar()),
                b"Total Allocated" => args.allocated_bytes = integer(value.scalar()),
                b"Total Reserved" => args.reserved_bytes = integer(value.scalar()),
                _ => {}
            }
            if let Value::Bare(bare) = value
                && is_not_finite(bare)
            {
                args.not_finite = Some((key, bare));
            }
        }
        if has_collective {
            args.collective = Some(scanner.since(start));
        }
        Ok(())
    }
}

/// An id; zero and negative ones mean that there is none.
fn id(value: Value<'_>) -> Option<u64> {
    integer(value.scalar()).and_then(|id| u64::try_from(id).ok()).filter(|&id| id > 0)
}

fn list(value: Value<'_>) -> &[u8] {
    match value {
        Value::Nested(raw) | Value::Text(raw) => raw,
        Value::Bare(_) => b"",
    }
}
