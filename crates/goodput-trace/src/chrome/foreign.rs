//! Device work in Chrome traces of other writers than Kineto, which have no categories.

use crate::class::Class;
use crate::trace::{CollectiveKind, WorkKind};

/// What an event of IBM's AIU is, by the engine at the end of its name: `add_11 Cmpt Exec` computes, `… DmaI` and
/// `… DmaO` move data in and out, to a peer when they are `SenRdma…`. `… Cmpt Prep` prepares and is no work.
pub(super) fn device_work(name: &[u8]) -> Option<(WorkKind, Class, Option<CollectiveKind>)> {
    let communication = |kind| Some((WorkKind::Kernel, Class::Communication, Some(kind)));
    if let Some(name) = name.strip_suffix(b" Cmpt Exec") {
        Some((WorkKind::Kernel, Class::of_kernel(&String::from_utf8_lossy(name)), None))
    } else if name.ends_with(b" DmaI") || name.ends_with(b" DmaO") {
        if name.starts_with(b"SenRdmaSend") {
            communication(CollectiveKind::Send)
        } else if name.starts_with(b"SenRdmaReceive") {
            communication(CollectiveKind::Receive)
        } else {
            Some((WorkKind::Copy, Class::Memory, None))
        }
    } else {
        None
    }
}

/// Whether the writer, told by the event's name, puts the ranks of a job into one file as its processes.
pub(super) fn has_ranks_as_processes(name: &[u8]) -> bool {
    [&b" Cmpt Exec"[..], b" Cmpt Prep", b" DmaI", b" DmaO"].iter().any(|engine| name.ends_with(engine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_tell_the_work() {
        let kind =
            |name: &str| device_work(name.as_bytes()).map(|(_, class, collective)| (class, collective));
        assert_eq!(kind("add_11 Cmpt Exec"), Some((Class::of_kernel("add_11"), None)));
        assert_eq!(kind("add_11 Cmpt Prep"), None);
        assert_eq!(
            kind("SenRdmaReceive_82236 [524288B] [sync=AllReduce_all_reduce_4_s0_r1_0] DmaI"),
            Some((Class::Communication, Some(CollectiveKind::Receive)))
        );
        assert_eq!(kind("weights DmaI"), Some((Class::Memory, None)));
        assert!(has_ranks_as_processes(b"add_11 Cmpt Prep"));
        assert!(!has_ranks_as_processes(b"aten::add"));
    }
}
