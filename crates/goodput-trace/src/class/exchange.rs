//! Exchanges of embeddings: what recommendation models send between the ranks that hold their tables.

use crate::class::Class;
use crate::trace::{CollectiveKind, RankTrace, around_launches};

/// Parts of names of operators and ranges, letters and digits only: TorchRec's and DLRM's own.
const NAMES: [&str; 9] = [
    "embedding",
    "sparse",
    "all2allpooled",
    "all2allseq",
    "alltoallpooled",
    "kjtall",
    "datakjt",
    "torchrec",
    "keyedjagged",
];

/// Which work exchanges embeddings or the indices into their tables, by index of the work.
///
/// It is communication that is no sum over all ranks (those are of gradients) and that an operator or range launched
/// which names embeddings or sparse features (`All2All_Pooled_Req`, `## all2all_data:kjt values ##`).
pub fn embedding_exchanges(trace: &RankTrace) -> Vec<bool> {
    let mut exchanges = vec![false; trace.work.len()];
    around_launches(trace, |index, around| {
        if trace.work[index].class != Class::Communication || !may_move_embeddings(trace, index) {
            return;
        }
        // The exchange that the runtime was asked for, where the kernel's name hides it.
        let names = || around.iter().map(|a| letters(trace.name(a.name)));
        let sums = names().any(|name| name.contains("allreduce") || name.contains("accumulategrad"));
        exchanges[index] = !sums && names().any(|name| NAMES.iter().any(|part| name.contains(part)));
    });
    exchanges
}

fn may_move_embeddings(trace: &RankTrace, index: usize) -> bool {
    let work = &trace.work[index];
    let kind = match trace.collective_of(work) {
        Some(args) => args.kind,
        None => CollectiveKind::of_kernel(trace.name(work.name)),
    };
    !matches!(kind, CollectiveKind::AllReduce | CollectiveKind::Broadcast | CollectiveKind::Barrier)
}

fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::HostKind;
    use crate::trace::sketch::{MAIN, Sketch};

    #[test]
    fn an_exchange_is_of_embeddings_when_what_launched_it_says_so() {
        let mut sketch = Sketch::default();
        sketch
            .range(HostKind::Annotation, "## forward ##", 0, 100)
            .range(HostKind::Annotation, "All2All_Pooled_Req", 10, 20)
            .range(HostKind::Annotation, "## all2all_data:kjt lengths ##", 30, 40)
            .range(HostKind::Annotation, "sparse_arch", 50, 60);
        for (launch_ns, name) in [
            (5, "ncclKernel_SendRecv"),
            (15, "ncclKernel_SendRecv"),
            (35, "ncclKernel_SendRecv"),
            (55, "ncclKernel_AllReduce"),
            (56, "ncclDevKernel_Generic_1"),
        ] {
            let at = (1000 + launch_ns, 1001 + launch_ns);
            sketch.launched_by(MAIN, launch_ns, 7, at, Class::Communication, name);
        }
        sketch.launched(57, 7, 2000, 2001, Class::Embedding);
        assert_eq!(embedding_exchanges(&sketch.trace()), [false, true, true, false, true, false]);
    }
}
