//! Which exchange a communication kernel is, told by its name.

use crate::trace::CollectiveKind;

/// What a name has in it, letters only, in the order asked: `allreduce` before the `reduce` inside it.
const NAMES: &[(&str, CollectiveKind)] = &[
    ("allreduce", CollectiveKind::AllReduce),
    ("crossdevicereduce", CollectiveKind::AllReduce),
    ("quickreduce", CollectiveKind::AllReduce),
    ("allgather", CollectiveKind::AllGather),
    ("reducescatter", CollectiveKind::ReduceScatter),
    ("alltoall", CollectiveKind::AllToAll),
    ("sendrecv", CollectiveKind::SendReceive),
    // XLA: every rank sends to the next of a permutation.
    ("collectivepermute", CollectiveKind::SendReceive),
    ("broadcast", CollectiveKind::Broadcast),
    ("barrier", CollectiveKind::Barrier),
    ("ncclsend", CollectiveKind::Send),
    ("ncclrecv", CollectiveKind::Receive),
    ("gather", CollectiveKind::Gather),
    ("scatter", CollectiveKind::Scatter),
    ("kernelreduce", CollectiveKind::Reduce),
    ("ncclreduce", CollectiveKind::Reduce),
];

impl CollectiveKind {
    /// The exchange by the kernel's name alone. RCCL runs all of them in one kernel, `ncclDevKernel_Generic`:
    /// [`CollectiveKind::Unknown`].
    ///
    /// ```
    /// use goodput_trace::trace::CollectiveKind;
    /// assert_eq!(CollectiveKind::of_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), CollectiveKind::AllReduce);
    /// assert_eq!(CollectiveKind::of_kernel("ncclDevKernel_Generic_1"), CollectiveKind::Unknown);
    /// ```
    pub fn of_kernel(name: &str) -> Self {
        let letters: String =
            name.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect();
        NAMES.iter().find(|(part, _)| letters.contains(part)).map_or(Self::Unknown, |&(_, kind)| kind)
    }

    /// Whether no member can finish before the last one has come, so that a late start of one is a wait of the
    /// others. [`CollectiveKind::SendReceive`] is one when all members run it: an all-to-all exchange.
    pub fn synchronises(self) -> bool {
        match self {
            Self::AllReduce
            | Self::AllGather
            | Self::ReduceScatter
            | Self::AllToAll
            | Self::Barrier
            | Self::SendReceive => true,
            Self::Broadcast
            | Self::Reduce
            | Self::Gather
            | Self::Scatter
            | Self::Send
            | Self::Receive
            | Self::Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_nccl_before_and_after_its_rename() {
        for (name, kind) in [
            ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", CollectiveKind::SendReceive),
            ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", CollectiveKind::SendReceive),
            ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", CollectiveKind::AllReduce),
            ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", CollectiveKind::ReduceScatter),
            ("ncclDevKernel_Reduce_Sum_f32_RING_LL", CollectiveKind::Reduce),
            ("ncclKernel_Broadcast_RING_LL_Sum_int8_t", CollectiveKind::Broadcast),
            ("nccl:all_to_all", CollectiveKind::AllToAll),
            ("void multimem_all_reduce_kernel<bf16>", CollectiveKind::AllReduce),
            ("void vllm::cross_device_reduce_1stage<half, 8>", CollectiveKind::AllReduce),
            ("mscclKernel_Sum_float_Simple_false", CollectiveKind::Unknown),
        ] {
            assert_eq!(CollectiveKind::of_kernel(name), kind, "{name}");
        }
    }
}
