//! Device work in tables: by class, kernel, launching operator and kind of exchange.

use std::hash::Hash;

use goodput_core::records::Symbol;
use rustc_hash::FxHashMap;

use crate::class::{Class, Coarse};
use crate::nearest_rank;
use crate::partition::Partition;
use crate::trace::{CollectiveKind, DeviceWork, RankTrace};

/// The tables of one partition. Rows come by total, the largest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// By operation.
    pub classes: Vec<Row<Class>>,
    /// By the name of the kernel, copy or fill.
    pub kernels: Vec<Row<Kernel>>,
    /// By the name of the innermost operator that launched it; `None` for work that no operator is known of.
    pub operators: Vec<Row<Option<Symbol>>>,
    /// Communication by kind of exchange.
    pub collectives: Vec<Row<CollectiveKind>>,
    /// Sum of all durations in nanoseconds.
    pub total_ns: i64,
    /// Nanoseconds in which anything runs.
    pub busy_ns: i64,
}

/// A kernel by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kernel {
    /// Name.
    pub name: Symbol,
    /// Its operation, which the launching operator may decide.
    pub class: Class,
}

/// One row: some device work. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<K> {
    /// What the work has in common.
    pub key: K,
    /// Pieces of work.
    pub count: usize,
    /// Sum of their durations. Work that runs at one time counts for each.
    pub total_ns: i64,
    /// What of the window is charged to them: every nanosecond once.
    pub charged_ns: i64,
    /// Median duration (nearest rank).
    pub median_ns: i64,
    /// 99th percentile of the durations (nearest rank).
    pub p99_ns: i64,
    /// Longest duration.
    pub max_ns: i64,
}

impl<K> Row<K> {
    /// Share of a whole in what this row is charged, 0 of nothing.
    pub fn charged_share(&self, whole_ns: i64) -> f64 {
        if whole_ns == 0 { 0.0 } else { self.charged_ns as f64 / whole_ns as f64 }
    }
}

impl Tables {
    /// The tables of the work that `filter` admits, by index, with what `partition` charges to it. Durations are whole,
    /// not cut to the window.
    pub fn of(trace: &RankTrace, partition: &Partition, filter: impl Fn(usize, &DeviceWork) -> bool) -> Self {
        let mut charged_ns = vec![0; trace.work.len()];
        for slice in partition.slices.iter().filter(|slice| !slice.charge.is_idle()) {
            if let Some(work) = slice.work {
                charged_ns[work as usize] += slice.end_ns - slice.start_ns;
            }
        }
        let admitted: Vec<(&DeviceWork, i64)> = trace
            .work
            .iter()
            .zip(charged_ns)
            .enumerate()
            .filter(|(index, (work, _))| filter(*index, work))
            .map(|(_, charged)| charged)
            .collect();
        let mut kinds: FxHashMap<(Option<u32>, Symbol), CollectiveKind> = FxHashMap::default();
        let communication =
            admitted.iter().copied().filter(|(work, _)| work.coarse() == Coarse::Communication);
        Self {
            classes: rows(admitted.iter().copied(), |work| work.class),
            kernels: rows(admitted.iter().copied(), |work| Kernel { name: work.name, class: work.class }),
            operators: rows(admitted.iter().copied(), |work| trace.operator_of(work).map(|op| op.name)),
            collectives: rows(communication, |work| {
                *kinds.entry((work.collective, work.name)).or_insert_with(|| trace.collective_kind(work))
            }),
            total_ns: admitted.iter().map(|(work, _)| work.duration_ns()).sum(),
            busy_ns: partition.window_ns() - partition.idle_ns(),
        }
    }
}

fn rows<'a, K: Copy + Ord + Hash>(
    work: impl Iterator<Item = (&'a DeviceWork, i64)>,
    mut key: impl FnMut(&DeviceWork) -> K,
) -> Vec<Row<K>> {
    let mut groups = Groups::default();
    for (work, charged_ns) in work {
        groups.add(key(work), [work.duration_ns()], charged_ns);
    }
    groups.rows()
}

/// Durations and charges by what they have in common.
#[derive(Debug)]
pub(crate) struct Groups<K>(FxHashMap<K, (Vec<i64>, i64)>);

impl<K> Default for Groups<K> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<K: Ord + Hash> Groups<K> {
    pub(crate) fn add(&mut self, key: K, durations_ns: impl IntoIterator<Item = i64>, charged_ns: i64) {
        let (durations, sum_ns) = self.0.entry(key).or_default();
        durations.extend(durations_ns);
        *sum_ns += charged_ns;
    }

    /// The same by coarser or other keys.
    pub(crate) fn into_other<L: Ord + Hash>(self, others: &mut Groups<L>, key: impl Fn(K) -> L) {
        for (of, (durations_ns, charged_ns)) in self.0 {
            others.add(key(of), durations_ns, charged_ns);
        }
    }

    /// Rows by total, the largest first.
    pub(crate) fn rows(self) -> Vec<Row<K>> {
        let groups = self.0.into_iter();
        let mut rows: Vec<_> =
            groups.map(|(key, (durations_ns, charged_ns))| row(key, durations_ns, charged_ns)).collect();
        rows.sort_unstable_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.key.cmp(&b.key)));
        rows
    }
}

/// A row of at least one duration.
fn row<K>(key: K, mut durations_ns: Vec<i64>, charged_ns: i64) -> Row<K> {
    let count = durations_ns.len();
    let total_ns = durations_ns.iter().sum();
    let mut percentile = |percent| nearest_rank::percentile(&mut durations_ns, percent).unwrap_or(0);
    let (median_ns, p99_ns, max_ns) = (percentile(50), percentile(99), percentile(100));
    Row { key, count, total_ns, charged_ns, median_ns, p99_ns, max_ns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::{Splits, partition};
    use crate::trace::sketch::Sketch;

    #[test]
    fn work_that_runs_at_one_time_is_charged_once() {
        let mut sketch = Sketch::default();
        sketch
            .work(7, 0, 100, Class::Gemm)
            .work(8, 50, 120, Class::Gemm)
            .work(9, 110, 150, Class::Communication)
            .work(9, 200, 210, Class::Memory);
        let trace = sketch.trace();
        let found = partition(&trace, (0, 300), &Splits::default(), |_, _| true);
        let tables = Tables::of(&trace, &found, |_, _| true);
        let gemm = &tables.classes[0];
        assert_eq!((gemm.key, gemm.count, gemm.total_ns, gemm.charged_ns), (Class::Gemm, 2, 170, 120));
        assert_eq!((gemm.median_ns, gemm.p99_ns, gemm.max_ns), (70, 100, 100));
        assert_eq!((tables.total_ns, tables.busy_ns), (220, 160));
        let charged: i64 = tables.kernels.iter().map(|row| row.charged_ns).sum();
        assert_eq!(charged, tables.busy_ns);
        assert_eq!(tables.collectives.len(), 1);
        assert_eq!((tables.operators[0].key, tables.operators[0].count), (None, 4));
        assert_eq!(gemm.charged_share(300), 0.4);
        assert!(Tables::of(&trace, &found, |_, _| false).classes.is_empty());
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let row = row((), (1..=200).rev().collect(), 0);
        assert_eq!((row.median_ns, row.p99_ns, row.max_ns, row.total_ns), (100, 198, 200, 20_100));
    }
}
