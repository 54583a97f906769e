//! What overlap hides and what it costs, in a view.

use goodput_trace::analysis::Analysis;
use serde::Serialize;

/// Communication beside computation. Everything here is over the whole traces, not the judged steps alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverlapView {
    /// Communication that computation hides.
    pub hidden_ns: i64,
    /// What it adds to the compared kernels beside it; negative when they ran faster.
    pub extra_ns: i64,
    /// Hidden less added.
    pub net_gain_ns: i64,
    /// Kernel runs beside communication without enough undisturbed runs to compare with.
    pub not_compared: u64,
    /// Their duration.
    pub not_compared_ns: i64,
    /// Compared kernels, the most added time first.
    pub kernels: Vec<ContendedKernelView>,
    /// One entry a rank, in order.
    pub ranks: Vec<RankOverlapView>,
}

/// A kernel beside communication against its own undisturbed runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContendedKernelView {
    /// The rank; `None` when its trace does not tell.
    pub rank: Option<u32>,
    /// Its index among the ranks.
    pub index: usize,
    /// Name.
    pub name: String,
    /// Class.
    pub class: &'static str,
    /// Whether all runs are known to be of one size; without it a longer run may have had more to do.
    pub of_one_size: bool,
    /// Runs without communication beside them.
    pub undisturbed: u64,
    /// Runs with communication beside them for more than half of their time.
    pub overlapped: u64,
    /// Median of the undisturbed runs.
    pub undisturbed_median_ns: i64,
    /// Median of the overlapped runs.
    pub overlapped_median_ns: i64,
    /// Overlapped over undisturbed median.
    pub slowdown: f64,
    /// Overlapped runs less as many undisturbed medians.
    pub extra_ns: i64,
}

/// One rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RankOverlapView {
    /// The rank; `None` when its trace does not tell.
    pub rank: Option<u32>,
    /// Communication that computation hides.
    pub hidden_ns: i64,
    /// What it adds to the compared kernels.
    pub extra_ns: i64,
    /// Hidden less added.
    pub net_gain_ns: i64,
}

impl OverlapView {
    /// `None` when no rank communicates. At most `top` kernels.
    pub(super) fn new(analysis: &Analysis, top: usize) -> Option<Self> {
        if analysis.ranks.iter().all(|rank| rank.whole.as_ref().is_none_or(|whole| whole.comm_total_ns == 0))
        {
            return None;
        }
        let mut view = Self {
            hidden_ns: 0,
            extra_ns: 0,
            net_gain_ns: 0,
            not_compared: 0,
            not_compared_ns: 0,
            kernels: Vec::new(),
            ranks: Vec::new(),
        };
        for (index, analysed) in analysis.ranks.iter().enumerate() {
            let (contention, rank) = (&analysed.contention, analysed.trace.identity.rank);
            let (hidden_ns, extra_ns) = (contention.hidden_ns, contention.extra_ns());
            view.ranks.push(RankOverlapView {
                rank,
                hidden_ns,
                extra_ns,
                net_gain_ns: contention.net_gain_ns(),
            });
            view.hidden_ns += hidden_ns;
            view.extra_ns += extra_ns;
            view.not_compared += contention.not_compared;
            view.not_compared_ns += contention.not_compared_ns;
            view.kernels.extend(contention.kernels.iter().take(top).map(|kernel| ContendedKernelView {
                rank,
                index,
                name: analysed.trace.name(kernel.name).to_owned(),
                class: kernel.class.key(),
                of_one_size: kernel.is_of_one_size(),
                undisturbed: kernel.undisturbed,
                overlapped: kernel.overlapped,
                undisturbed_median_ns: kernel.undisturbed_median_ns,
                overlapped_median_ns: kernel.overlapped_median_ns,
                slowdown: kernel.slowdown(),
                extra_ns: kernel.extra_ns,
            }));
        }
        view.net_gain_ns = view.hidden_ns - view.extra_ns;
        view.kernels.sort_by(|a, b| b.extra_ns.cmp(&a.extra_ns).then_with(|| a.name.cmp(&b.name)));
        view.kernels.truncate(top);
        Some(view)
    }
}
