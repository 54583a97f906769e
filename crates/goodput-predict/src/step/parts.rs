//! Which layers and ends each part of the pipeline holds, and what they cost.

use goodput_model::architecture::TextModel;

use crate::kernel::{HostCost, KernelError};
use crate::layer::{Layers, PassCosts, Term};
use crate::memory::RankParameters;
use crate::run::{Recompute, Run, Schedule};
use crate::{Basis, Estimate};

/// What one part holds: blocks of each group, those among them that full recomputation runs again, and the ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holding {
    /// Blocks of each group of the decoder.
    pub blocks: Vec<u64>,
    /// Of these, recomputed whole.
    pub recomputed: Vec<u64>,
    pub embedding: bool,
    pub head: bool,
}

/// The positions of the model's parts, first to last.
pub(crate) fn holdings(run: &Run, text: &TextModel) -> Vec<Holding> {
    let groups: Vec<u64> = text.decoder.iter().map(|blocks| blocks.blocks).collect();
    let layers: u64 = groups.iter().sum();
    let parts = u64::from(run.layout.pipeline) * u64::from(run.parts());
    let [first, last] = run.layout.uneven_ends.map(u64::from);
    let each = (layers + first + last) / parts;
    let mut next = 0;
    (0..parts)
        .map(|part| {
            let lacks = if part == 0 { first } else { 0 } + if part + 1 == parts { last } else { 0 };
            let range = next..next + each - lacks.min(each);
            next = range.end;
            let mut start = 0;
            let blocks: Vec<u64> = groups
                .iter()
                .map(|count| {
                    let held = range.end.min(start + count).saturating_sub(range.start.max(start));
                    start += count;
                    held
                })
                .collect();
            let mut again = match run.recompute {
                Recompute::Full => u64::MAX,
                Recompute::Layers(layers) => layers.into(),
                _ => 0,
            };
            let recomputed = blocks
                .iter()
                .map(|&count| {
                    let whole = count.min(again);
                    again -= whole;
                    whole
                })
                .collect();
            Holding { blocks, recomputed, embedding: part == 0, head: part + 1 == parts }
        })
        .collect()
}

/// Bytes of a rank's activation between two stages.
pub(crate) fn sent_bytes(run: &Run, text: &TextModel) -> f64 {
    let values = run.batch.micro * run.batch.sequence / u64::from(run.layout.context) * text.width;
    let split = if run.layout.sequence_parallel { f64::from(run.layout.tensor) } else { 1.0 };
    values as f64 * f64::from(run.precision.activation_bytes) / split
}

/// Position in the model of part `part` of stage `stage`.
pub(crate) fn position(run: &Run, stage: usize, part: usize) -> usize {
    let stages = run.layout.pipeline as usize;
    match run.layout.schedule {
        Schedule::DualPipe if part == 1 => stages - 1 - stage,
        _ => part * stages + stage,
    }
}

/// Parts on each stage, as the simulation counts them.
pub(crate) fn parts_of_a_stage(run: &Run) -> usize {
    if run.layout.schedule == Schedule::DualPipe { 2 } else { run.parts() as usize }
}

/// Costs of everything that a part may hold, each once.
#[derive(Debug, Clone)]
pub(crate) struct Units {
    /// Of each group: a block, and one that is recomputed whole.
    pub blocks: Vec<[PassCosts; 2]>,
    pub embedding: PassCosts,
    pub head: PassCosts,
}

impl Units {
    pub fn new(run: &Run, text: &TextModel, layers: &Layers<'_>) -> Result<Self, KernelError> {
        let mut blocks = Vec::with_capacity(text.decoder.len());
        for group in &text.decoder {
            let whole = match run.recompute {
                Recompute::Full => [true; 2],
                Recompute::Layers(_) => [false, true],
                _ => [false; 2],
            };
            let passes = layers.block(text, group, whole[1])?;
            let again = PassCosts::of(&passes);
            let plain = if whole[0] == whole[1] {
                again
            } else {
                PassCosts { recompute: Default::default(), ..again }
            };
            blocks.push([plain, again]);
        }
        let mut head = PassCosts::of(&layers.head(text)?);
        if let (modules @ 1.., Some(last)) = (text.multi_token_prediction, text.decoder.last()) {
            let module = layers.multi_token_prediction(text, last, run.recompute == Recompute::Full)?;
            head.add_times(&PassCosts::of(&module), modules as f64);
        }
        Ok(Self { blocks, embedding: PassCosts::of(&layers.embedding(text)?), head })
    }

    /// Adds the host's work to each pass, for a host that waits for every kernel.
    pub fn await_launches(&mut self, host: &HostCost) {
        let ends = [&mut self.embedding, &mut self.head];
        for costs in self.blocks.iter_mut().flatten().chain(ends) {
            let of_a_pass = [
                host.forward_us(&costs.forward.host),
                host.forward_us(&costs.recompute.host),
                host.backward_us(&costs.input_gradient.host),
                host.backward_us(&costs.weight_gradient.host),
            ];
            let passes = [
                &mut costs.forward,
                &mut costs.recompute,
                &mut costs.input_gradient,
                &mut costs.weight_gradient,
            ];
            for (pass, us) in passes.into_iter().zip(of_a_pass).filter(|(_, us)| *us > 0.0) {
                let estimate =
                    Estimate { ns: us * 1e3, deviation: host.deviation, basis: Basis::Extrapolated };
                pass.push(Term::Launch, estimate);
            }
        }
    }

    pub fn of(&self, holding: &Holding) -> PassCosts {
        let mut sum = PassCosts::default();
        for (([plain, again], count), recomputed) in
            self.blocks.iter().zip(&holding.blocks).zip(&holding.recomputed)
        {
            sum.add_times(plain, (count - recomputed) as f64);
            sum.add_times(again, *recomputed as f64);
        }
        if holding.embedding {
            sum.add_times(&self.embedding, 1.0);
        }
        if holding.head {
            sum.add_times(&self.head, 1.0);
        }
        sum
    }
}

/// Parameters of a rank that holds a part.
pub(crate) fn parameters(run: &Run, text: &TextModel, holding: &Holding) -> RankParameters {
    let mut sum = RankParameters::default();
    for (group, count) in text.decoder.iter().zip(&holding.blocks).filter(|(_, count)| **count > 0) {
        sum.add_times(RankParameters::of_block(run, text, group), *count);
    }
    if holding.embedding {
        sum.add_times(RankParameters::of_embedding(run, text), 1);
    }
    if holding.head {
        let beside_embedding = run.layout.pipeline == 1 || run.layout.schedule == Schedule::DualPipe;
        sum.add_times(RankParameters::of_head(run, text, beside_embedding), 1);
        sum.add_times(RankParameters::of_prediction_module(run, text), text.multi_token_prediction);
    }
    sum
}
