//! Which exchange a collective is.

use crate::trace::CollectiveKind;

impl CollectiveKind {
    /// By the name that a framework or an NVTX range gives (`allreduce`, `_reduce_scatter_base`, `all_to_allv`).
    pub fn of_name(name: &str) -> Self {
        Self::of_letters(&letters(name)).unwrap_or(Self::Unknown)
    }

    /// By the name of a kernel of NCCL, RCCL or another library (`ncclDevKernel_AllReduce_Sum_f32_RING_LL`). RCCL's
    /// `Generic` hides it. Sends and receives in one kernel may be an all-to-all: the name does not tell.
    pub fn of_kernel(name: &str) -> Self {
        // Template arguments name types and not operations.
        let name = name.split(['(', '<']).find(|piece| !piece.is_empty()).unwrap_or(name);
        let letters = letters(name);
        if letters.contains("sendrecv") {
            Self::SendReceive
        } else {
            Self::of_letters(&letters).unwrap_or(Self::Unknown)
        }
    }

    fn of_letters(letters: &str) -> Option<Self> {
        // The longer before the shorter that it contains.
        const WORDS: [(&str, CollectiveKind); 14] = [
            ("barrier", CollectiveKind::Barrier),
            ("reducescatter", CollectiveKind::ReduceScatter),
            ("allreduce", CollectiveKind::AllReduce),
            ("crossdevicereduce", CollectiveKind::AllReduce),
            ("quickreduce", CollectiveKind::AllReduce),
            ("allgather", CollectiveKind::AllGather),
            ("alltoall", CollectiveKind::AllToAll),
            ("broadcast", CollectiveKind::Broadcast),
            ("reduce", CollectiveKind::Reduce),
            ("gather", CollectiveKind::Gather),
            ("scatter", CollectiveKind::Scatter),
            ("send", CollectiveKind::Send),
            ("recv", CollectiveKind::Receive),
            ("receive", CollectiveKind::Receive),
        ];
        WORDS.iter().find(|(word, _)| letters.contains(word)).map(|&(_, kind)| kind)
    }
}

/// Lower-case letters only: `_all_gather_base`, `AllGather` and `all-gather` are one word.
fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphabetic).map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("allreduce", CollectiveKind::AllReduce)]
    #[case("allreduce_coalesced", CollectiveKind::AllReduce)]
    #[case("_allgather_base", CollectiveKind::AllGather)]
    #[case("all_gather_into_tensor", CollectiveKind::AllGather)]
    #[case("_reduce_scatter_base", CollectiveKind::ReduceScatter)]
    #[case("all_to_allv", CollectiveKind::AllToAll)]
    #[case("nccl:all_to_all", CollectiveKind::AllToAll)]
    #[case("broadcast", CollectiveKind::Broadcast)]
    #[case("_reduce_oop", CollectiveKind::Reduce)]
    #[case("gather", CollectiveKind::Gather)]
    #[case("scatter", CollectiveKind::Scatter)]
    #[case("barrier", CollectiveKind::Barrier)]
    #[case("send", CollectiveKind::Send)]
    #[case("recv", CollectiveKind::Receive)]
    #[case("coalesced", CollectiveKind::Unknown)]
    fn names(#[case] name: &str, #[case] expected: CollectiveKind) {
        assert_eq!(CollectiveKind::of_name(name), expected);
    }

    #[rstest]
    #[case(
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
        CollectiveKind::AllReduce
    )]
    #[case(
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        CollectiveKind::AllReduce
    )]
    #[case(
        "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        CollectiveKind::ReduceScatter
    )]
    #[case("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*)", CollectiveKind::AllGather)]
    #[case("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", CollectiveKind::SendReceive)]
    #[case("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", CollectiveKind::Unknown)]
    #[case("ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*)", CollectiveKind::Broadcast)]
    #[case("void vllm::cross_device_reduce_1stage<__half, 2>(RankData*)", CollectiveKind::AllReduce)]
    #[case("multimem_all_reduce_kernel", CollectiveKind::AllReduce)]
    fn kernels(#[case] name: &str, #[case] expected: CollectiveKind) {
        assert_eq!(CollectiveKind::of_kernel(name), expected);
    }
}
