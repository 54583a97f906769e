//! What every stage does at every moment of a step: for a chart, and for a trace that Perfetto opens.

use super::cost::{Cost, round};
use super::exchange::reduced;
use super::order::Pass;
use super::program::Kind;
use super::simulate::{Moments, State};
use super::timeline::last_backward;
use super::{Pipeline, Timeline, parts_of_a_stage};

/// One pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// Stage on which it runs.
    pub stage: usize,
    /// Part of the stage.
    pub part: usize,
    /// Micro-batch.
    pub micro_batch: usize,
    /// What runs.
    pub pass: Pass,
    /// Start, from the start of the step.
    pub start_ns: f64,
    /// End.
    pub end_ns: f64,
}

/// What a stage does for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Doing {
    /// A pass of a micro-batch through a part of the stage.
    Pass {
        /// The pass.
        pass: Pass,
        /// Part of the stage.
        part: usize,
        /// Micro-batch.
        micro_batch: usize,
    },
    /// Exchanges with other stages: its own send, or a transfer that is under way.
    Send,
    /// Waits for its host to enqueue kernels.
    Host,
    /// Parameters are gathered.
    Gather,
    /// Gradients are reduced.
    Reduce,
    /// Updates parameters, with the host's work of a step.
    Optimizer,
    /// Nothing: other stages have not come so far.
    Bubble,
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// What happens in it.
    pub doing: Doing,
    /// Start, from the start of the step.
    pub start_ns: f64,
    /// How long it takes.
    pub duration_ns: f64,
    /// Change of the activations held, at the start of a forward and at the end of a backward; in the unit of
    /// [`Part::activation`](super::Part::activation).
    pub held: f64,
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// Spans that follow each other without a gap, as long as the step.
    pub spans: Vec<Span>,
    /// Exchanges with replicas on a stream of their own, hidden ones too.
    pub beside: Vec<Span>,
}

/// A simulated step, stage by stage. What a pass waits for stands before it: parameters too, which it may wait for half-way.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Picture {
    /// From the start of a step to the start of the next.
    pub step_ns: f64,
    /// The stages.
    pub rows: Vec<Row>,
}

/// One operation as it ran.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ran {
    pub class: usize,
    pub micro_batch: usize,
    pub moments: Moments,
}

impl Event {
    /// The event of an operation; none for a wait.
    pub(super) fn of(pipeline: &Pipeline, ran: &Ran) -> Option<Self> {
        let (parts, at) = (parts_of_a_stage(pipeline.schedule), ran.class / Kind::COUNT);
        let pass = Kind::ALL[ran.class % Kind::COUNT].pass()?;
        let Moments { start, end, .. } = ran.moments;
        let (stage, part) = (at / parts, at % parts);
        Some(Self { stage, part, micro_batch: ran.micro_batch, pass, start_ns: start, end_ns: end })
    }
}

impl Picture {
    pub(super) fn new(
        pipeline: &Pipeline,
        costs: &[Cost],
        state: &State,
        timeline: &Timeline,
        ran: &[Ran],
    ) -> Self {
        let parts = parts_of_a_stage(pipeline.schedule);
        let waits = pipeline.optimizers_wait;
        // Where no optimizer waits, a stage's step begins with its first input.
        let begin = |stage: usize| if waits { 0.0 } else { state.stages[stage].first };
        let mut lines: Vec<Line> = (0..pipeline.stages).map(|stage| Line::from(begin(stage))).collect();
        for one in ran {
            lines[one.class / Kind::COUNT / parts].run(one, &costs[one.class], parts);
        }
        let slowest = timeline.stages.iter().map(|stage| stage.optimizer_ns).fold(0.0, f64::max);
        for (stage, (line, time)) in lines.iter_mut().zip(&timeline.stages).enumerate() {
            line.push(Doing::Reduce, time.reduce_ns);
            if waits {
                line.until(timeline.step_ns - slowest, Doing::Bubble);
            }
            line.push(Doing::Optimizer, time.optimizer_ns);
            line.until(begin(stage) + timeline.step_ns, Doing::Bubble);
        }
        let mut ready = Vec::new();
        let beside = |stage: usize| {
            let mut line = Line::from(0.0);
            let Some(exchange) = pipeline.exchanges.get(stage) else { return line.spans };
            for bucket in &exchange.gathers {
                line.push(Doing::Gather, round(bucket.ns));
            }
            let last = |part: usize| last_backward(state, parts, stage, part);
            reduced(&exchange.reductions, last, &mut ready);
            let mut line_of_reductions = Line::from(0.0);
            for &(from, ns) in &ready {
                line_of_reductions.now = line_of_reductions.now.max(from);
                line_of_reductions.push(Doing::Reduce, ns);
            }
            line.spans.append(&mut line_of_reductions.spans);
            line.spans
        };
        let besides: Vec<Vec<Span>> = (0..pipeline.stages).map(beside).collect();
        let rows = lines.into_iter().zip(besides).map(|(line, beside)| Row { spans: line.spans, beside });
        Self { step_ns: timeline.step_ns, rows: rows.collect() }
    }
}

impl Picture {
    /// With all times multiplied.
    #[must_use]
    pub fn times_as_long(mut self, factor: f64) -> Self {
        self.step_ns *= factor;
        for span in self.rows.iter_mut().flat_map(|row| row.spans.iter_mut().chain(&mut row.beside)) {
            span.start_ns *= factor;
            span.duration_ns *= factor;
        }
        self
    }
}

/// A row as it is drawn.
struct Line {
    now: f64,
    spans: Vec<Span>,
}

impl Line {
    fn from(now: f64) -> Self {
        Self { now, spans: Vec::new() }
    }

    fn push(&mut self, doing: Doing, duration_ns: f64) {
        self.push_held(doing, duration_ns, 0.0);
    }

    fn push_held(&mut self, doing: Doing, duration_ns: f64, held: f64) {
        if duration_ns > 0.0 || held != 0.0 {
            self.spans.push(Span { doing, start_ns: self.now, duration_ns, held });
            self.now += duration_ns;
        }
    }

    fn until(&mut self, end: f64, doing: Doing) {
        self.push(doing, end - self.now);
    }

    fn run(&mut self, ran: &Ran, cost: &Cost, parts: usize) {
        let Moments { under_way, ready, start, gather, end, free } = ran.moments;
        self.until(ready - under_way, Doing::Bubble);
        self.push(Doing::Send, under_way);
        self.until(start, Doing::Host);
        self.push(Doing::Gather, gather);
        if let Some(pass) = Kind::ALL[ran.class % Kind::COUNT].pass() {
            let part = ran.class / Kind::COUNT % parts;
            let doing = Doing::Pass { pass, part, micro_batch: ran.micro_batch };
            self.push_held(doing, cost.duration_ns, cost.held);
        }
        self.until(end, Doing::Host);
        self.until(free, Doing::Send);
    }
}

impl Pass {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::InputGradient => "input gradient",
            Self::WeightGradient => "weight gradient",
            Self::PairedForward => "forward beside backward",
            Self::PairedBackward => "backward beside forward",
        }
    }

    /// Whether activations are made rather than used up.
    pub const fn is_forward(self) -> bool {
        matches!(self, Self::Forward | Self::PairedForward)
    }
}

impl Doing {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass { pass, .. } => pass.name(),
            Self::Send => "exchange between stages",
            Self::Host => "waits for the host",
            Self::Gather => "parameters gathered",
            Self::Reduce => "gradients reduced",
            Self::Optimizer => "optimizer",
            Self::Bubble => "bubble",
        }
    }
}
