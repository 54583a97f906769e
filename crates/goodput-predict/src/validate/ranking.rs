//! Whether predictions put layouts in the order that measurements do.

use std::collections::BTreeMap;

use serde::Serialize;

use super::evaluate::Outcome;
use super::statistics::spearman;

/// Over groups of runs that differ in nothing but how they are laid out: one source, model, software, device, number of
/// devices, sequence, global batch, format and recomputation.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Ranking {
    /// Groups of at least 3 runs, over which `spearman` is the mean.
    pub correlated_groups: usize,
    /// Mean of Spearman's rank correlation of measured and predicted times, every group weighing the same.
    pub spearman: Option<f64>,
    /// Groups of at least 2 runs, over which the regrets are.
    pub groups: usize,
    /// Mean of the regret: measured time of the run that is predicted to be the fastest over that of the fastest, less 1.
    pub mean_regret: Option<f64>,
    /// Largest regret.
    pub max_regret: Option<f64>,
    /// Each group.
    pub each: Vec<GroupRanking>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupRanking {
    /// Source, model, software, device, number of devices, sequence, batch, format, recomputation.
    pub group: String,
    /// Runs.
    pub rows: usize,
    /// Spearman's rank correlation; none for 2 runs.
    pub spearman: Option<f64>,
    /// Regret of the picked run.
    pub regret: f64,
    /// The run that is predicted to be the fastest.
    pub picked: String,
    /// The run that is the fastest.
    pub best: String,
}

impl Ranking {
    pub(super) fn of(outcomes: &[Outcome<'_>]) -> Self {
        let mut groups: BTreeMap<String, Vec<&Outcome<'_>>> = BTreeMap::new();
        for outcome in outcomes {
            groups.entry(group(outcome)).or_default().push(outcome);
        }
        let each: Vec<_> =
            groups.into_iter().filter_map(|(group, members)| GroupRanking::of(group, &members)).collect();
        let correlations: Vec<f64> = each.iter().filter_map(|group| group.spearman).collect();
        Self {
            correlated_groups: correlations.len(),
            spearman: mean(correlations.iter().copied()),
            groups: each.len(),
            mean_regret: mean(each.iter().map(|group| group.regret)),
            max_regret: each.iter().map(|group| group.regret).max_by(f64::total_cmp),
            each,
        }
    }
}

fn group(outcome: &Outcome<'_>) -> String {
    let (row, run) = (outcome.row, &outcome.row.run);
    format!(
        "{}, {}, {}, {} x {}, {} tokens, {} sequences, {}, {:?}",
        row.source,
        row.model,
        row.software,
        run.devices,
        row.device,
        run.batch.sequence,
        run.batch.global,
        run.precision.products.name(),
        run.recompute
    )
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

impl GroupRanking {
    /// None where all runs are laid out alike.
    fn of(group: String, members: &[&Outcome<'_>]) -> Option<Self> {
        let first = members.first()?;
        let laid_out = |outcome: &Outcome<'_>| {
            let run = &outcome.row.run;
            (run.layout.clone(), run.batch.micro)
        };
        if members.iter().all(|member| laid_out(member) == laid_out(first)) {
            return None;
        }
        let by_prediction =
            |a: &&&Outcome<'_>, b: &&&Outcome<'_>| a.predicted.step_ns.total_cmp(&b.predicted.step_ns);
        let picked = members.iter().min_by(by_prediction)?;
        let best = members.iter().min_by_key(|member| member.row.measured.step_ns)?;
        let pairs: Vec<_> = members.iter().map(|member| member.pair()).collect();
        Some(Self {
            group,
            rows: members.len(),
            spearman: spearman(&pairs),
            regret: picked.pair().0 / best.pair().0 - 1.0,
            picked: picked.row.id.clone(),
            best: best.row.id.clone(),
        })
    }
}
