//! Trackable resources (`billing=256,cpu=256,gres/gpu:h100=32,gres/gpu=32,node=4`) and generic
//! resources (`gpu:h100:8(S:0-1)`).
//!
//! A TRES text names the same devices twice: once in total and once by type. The total counts;
//! where it is missing the types are summed; the two are never added.

use rustc_hash::FxHashMap;

use super::times::whole_number;

/// What a TRES text says about devices and nodes. `None` where it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tres<'a> {
    /// Accelerators (`gres/gpu`).
    pub devices: Option<u64>,
    /// The device type, when the text names exactly one.
    pub device_type: Option<&'a [u8]>,
    /// Nodes.
    pub nodes: Option<u64>,
}

impl<'a> Tres<'a> {
    /// Reads a TRES text.
    ///
    /// ```
    /// use goodput_records::scheduler::slurm::tres::Tres;
    /// let tres = Tres::parse(b"billing=256,gres/gpu:h100=32,gres/gpu=32,node=4")?;
    /// assert_eq!((tres.devices, tres.nodes, tres.device_type), (Some(32), Some(4), Some(&b"h100"[..])));
    /// # Ok::<(), goodput_records::scheduler::slurm::tres::TresError>(())
    /// ```
    ///
    /// # Errors
    /// [`TresError`] when a count of devices or nodes is no whole number.
    pub fn parse(text: &'a [u8]) -> Result<Self, TresError> {
        let mut tally = Tally::default();
        for item in text.split(|&b| b == b',') {
            let item = item.trim_ascii();
            // Items are a few bytes long: a search routine for long texts costs more than it saves.
            let Some(equals) = item.iter().position(|&b| b == b'=') else {
                match item {
                    b"" => continue,
                    _ => return Err(TresError(super::times::quoted(item))),
                }
            };
            let (name, amount) = (&item[..equals], &item[equals + 1..]);
            tally.add(name, || count(amount).ok_or_else(|| TresError(super::times::quoted(item))))?;
        }
        Ok(tally.total())
    }
}

/// What a TRES text says about devices and nodes together, each text read once: the jobs of a table ask for one of
/// rather few shapes.
#[derive(Debug, Default)]
pub(super) struct KnownTres {
    by_text: FxHashMap<Box<[u8]>, Amounts>,
}

/// Devices and nodes of a [`Tres`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Amounts {
    pub(super) devices: Option<u64>,
    pub(super) nodes: Option<u64>,
}

/// Texts beyond this many are not kept: a table may give each job a memory of its own.
const MOST_KNOWN: usize = 1 << 12;

impl KnownTres {
    /// As [`Tres::parse`].
    pub(super) fn parse(&mut self, text: &[u8]) -> Result<Amounts, TresError> {
        if let Some(&known) = self.by_text.get(text) {
            return Ok(known);
        }
        let Tres { devices, nodes, .. } = Tres::parse(text)?;
        let amounts = Amounts { devices, nodes };
        if self.by_text.len() < MOST_KNOWN {
            self.by_text.insert(text.into(), amounts);
        }
        Ok(amounts)
    }
}

/// Devices as they are listed, in total and by type, until all of them are seen.
#[derive(Debug, Default)]
struct Tally<'a> {
    tres: Tres<'a>,
    by_type: Option<u64>,
    types: u32,
}

impl<'a> Tally<'a> {
    /// Takes one resource. The amount is asked for only where it matters: memory has its own units.
    fn add<E>(&mut self, name: &'a [u8], amount: impl FnOnce() -> Result<u64, E>) -> Result<(), E> {
        match name {
            b"gres/gpu" => self.tres.devices = Some(amount()?),
            b"node" => self.tres.nodes = Some(amount()?),
            _ => {
                if let Some(device_type) = name.strip_prefix(b"gres/gpu:") {
                    self.by_type = Some(self.by_type.unwrap_or(0).saturating_add(amount()?));
                    self.types += 1;
                    self.tres.device_type = Some(device_type);
                }
            }
        }
        Ok(())
    }

    fn total(mut self) -> Tres<'a> {
        self.tres.devices = self.tres.devices.or(self.by_type);
        if self.types != 1 {
            self.tres.device_type = None;
        }
        self.tres
    }
}

/// A count that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no resource with a whole count (export with --noconvert)")]
pub struct TresError(pub String);

/// A whole count, where `K`, `M` and `G` are Slurm's powers of 1024; `None` when there is none, or
/// when rounding hides it (`1.47K`).
pub fn count(text: &[u8]) -> Option<u64> {
    if let Some(number) = whole_number(text) {
        return Some(number);
    }
    let text = text.trim_ascii();
    let (digits, unit) = match text.split_last()? {
        (b'K', digits) => (digits, 1_u64 << 10),
        (b'M', digits) => (digits, 1 << 20),
        (b'G', digits) => (digits, 1 << 30),
        _ => (text, 1),
    };
    let Some(dot) = memchr::memchr(b'.', digits) else {
        return whole_number(digits)?.checked_mul(unit);
    };
    let (whole, decimals) = (&digits[..dot], &digits[dot + 1..]);
    if decimals.len() > 4 {
        return None;
    }
    let scale = decimals.iter().fold(1, |scale, _| scale * 10);
    let rest = whole_number(decimals)?.checked_mul(unit)?;
    let whole = whole_number(whole)?.checked_mul(unit)?;
    (rest % scale == 0).then(|| whole.checked_add(rest / scale))?
}

/// Accelerators in a GRES text: `gpu:8`, `gpu:h100:8(S:0-1)`, `gpu:h100:5(IDX:0-4)`,
/// `gpu:a:4,gpu:b:2`, `gpu` (one), `gres:gpu:8`. Zero when it names none, `None` when a count is malformed.
///
/// ```
/// use goodput_records::scheduler::slurm::tres::gres_devices;
/// assert_eq!(gres_devices(b"gpu:h100:8(S:0-1),nic:4"), Some(8));
/// assert_eq!(gres_devices(b"(null)"), Some(0));
/// ```
pub fn gres_devices(text: &[u8]) -> Option<u64> {
    let mut devices = 0_u64;
    for item in outside_parentheses(text) {
        let item = item.trim_ascii();
        let item = item.strip_prefix(b"gres:").or(item.strip_prefix(b"gres/")).unwrap_or(item);
        let mut parts = item.split(|&b| b == b':' || b == b'=');
        if parts.next() != Some(b"gpu") {
            continue;
        }
        let amount = match (parts.next(), parts.next(), parts.next()) {
            (None, _, _) => 1,
            (Some(one), None, _) => count(one).or(one.first().filter(|b| !b.is_ascii_digit()).map(|_| 1))?,
            (Some(_), Some(amount), None) => count(amount)?,
            _ => return None,
        };
        devices = devices.checked_add(amount)?;
    }
    Some(devices)
}

/// Items between commas, each without its parenthesised part (which may hold commas).
fn outside_parentheses(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let current = rest?;
        let mut depth = 0_usize;
        let mut item_end = None;
        for (at, &byte) in current.iter().enumerate() {
            match byte {
                b'(' => {
                    item_end.get_or_insert(at);
                    depth += 1;
                }
                b')' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => {
                    rest = Some(&current[at + 1..]);
                    return Some(&current[..item_end.unwrap_or(at)]);
                }
                _ => {}
            }
        }
        rest = None;
        Some(&current[..item_end.unwrap_or(current.len())])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("billing=256,cpu=256,gres/gpu:h100=32,gres/gpu=32,node=4", Some(32))]
    #[case("gres/gpu=32,gres/gpu:h100=32", Some(32))]
    #[case("gres/gpu:h100=8,gres/gpu:a100=4", Some(12))]
    #[case("cpu=4,mem=4000000M,gres/gpu:h100=2", Some(2))]
    #[case("gres/gpumem=80G,gres/gpuutil=90,gres/shard=4", None)]
    #[case("cpu=4,mem=4.5G", None)]
    #[case("", None)]
    fn devices_count_once(#[case] text: &str, #[case] expected: Option<u64>) {
        assert_eq!(Tres::parse(text.as_bytes()).unwrap().devices, expected);
    }

    #[rstest]
    #[case("gres/gpu=eight")]
    #[case("gres/gpu=1.47K")]
    #[case("gpu")]
    fn counts_that_cannot_be_read_are_refused(#[case] text: &str) {
        assert!(Tres::parse(text.as_bytes()).is_err());
    }

    #[rstest]
    #[case("2K", Some(2048))]
    #[case("1.50K", Some(1536))]
    #[case("1.47K", None)]
    #[case("1M", Some(1_048_576))]
    #[case("12", Some(12))]
    #[case("", None)]
    fn counts(#[case] text: &str, #[case] expected: Option<u64>) {
        assert_eq!(count(text.as_bytes()), expected);
    }

    #[rstest]
    #[case("gpu:8", Some(8))]
    #[case("gpu:h100:8(S:0-1)", Some(8))]
    #[case("gpu:h100:5(IDX:0-2,4-5)", Some(5))]
    #[case("gpu:h100:4,gpu:a100:2", Some(6))]
    #[case("gres:gpu:2", Some(2))]
    #[case("gpu", Some(1))]
    #[case("gpu:h100", Some(1))]
    #[case("nic:4", Some(0))]
    #[case("gpu:h100:many", None)]
    fn gres(#[case] text: &str, #[case] expected: Option<u64>) {
        assert_eq!(gres_devices(text.as_bytes()), expected);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = Tres::parse(&bytes);
            let _ = gres_devices(&bytes);
            let _ = count(&bytes);
        }
    }
}
