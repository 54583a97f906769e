//! Tables over the judged steps of all ranks.

use super::{Analysis, RankAnalysis};
use crate::class::{Class, Coarse};
use crate::tables::{Groups, Row};
use crate::trace::CollectiveKind;

/// Device work of the judged steps of all ranks. Rows come by total, the largest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobTables {
    /// By operation.
    pub classes: Vec<Row<Class>>,
    /// By the name of the kernel, copy or fill, and its operation.
    pub kernels: Vec<Row<(String, Class)>>,
    /// By the name of the innermost operator that launched it, where one is known.
    pub operators: Vec<Row<String>>,
    /// Communication by kind of exchange.
    pub collectives: Vec<Row<CollectiveKind>>,
}

impl Analysis {
    /// The tables of the judged steps.
    pub fn tables(&self) -> JobTables {
        let mut classes = Groups::default();
        let mut kernels = Groups::default();
        let mut operators = Groups::default();
        let mut collectives = Groups::default();
        for rank in &self.ranks {
            let trace = &rank.trace;
            let (mut by_name, mut by_operator) = (Groups::default(), Groups::default());
            for (index, charged_ns) in rank.judged_work() {
                let work = &trace.work[index];
                let duration_ns = [work.duration_ns()];
                classes.add(work.class, duration_ns, charged_ns);
                by_name.add((work.name, work.class), duration_ns, charged_ns);
                if let Some(operator) = trace.operator_of(work) {
                    by_operator.add(operator.name, duration_ns, charged_ns);
                }
                if work.coarse() == Coarse::Communication {
                    collectives.add(trace.collective_kind(work), duration_ns, charged_ns);
                }
            }
            by_name.into_other(&mut kernels, |(name, class)| (trace.name(name).to_owned(), class));
            by_operator.into_other(&mut operators, |name| trace.name(name).to_owned());
        }
        JobTables {
            classes: classes.rows(),
            kernels: kernels.rows(),
            operators: operators.rows(),
            collectives: collectives.rows(),
        }
    }
}

impl RankAnalysis {
    /// Indices of the device work of the judged steps, with what their device windows charge to it.
    fn judged_work(&self) -> impl Iterator<Item = (usize, i64)> {
        let mut charged_ns = vec![0; self.trace.work.len()];
        for slice in
            self.judged().flat_map(|partition| &partition.slices).filter(|slice| !slice.charge.is_idle())
        {
            if let Some(work) = slice.work {
                charged_ns[work as usize] += slice.end_ns - slice.start_ns;
            }
        }
        let judged: Vec<bool> = self.windows.iter().map(|windows| windows.judged).collect();
        self.steps.members.iter().zip(charged_ns).enumerate().filter_map(
            move |(index, (member, charged_ns))| {
                (member.step().is_some_and(|step| judged[step]) || charged_ns > 0)
                    .then_some((index, charged_ns))
            },
        )
    }
}
