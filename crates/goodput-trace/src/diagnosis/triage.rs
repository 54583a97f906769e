//! The triage flow: questions in order, from the cheapest evidence to the dearest, until a term is named.

use super::Term;
use super::rules::{Evidence, NOTICEABLE, needs_peers, percent, ratio};
use crate::partition::{Charge, HostCause};

/// The device counts as busy from this share of its time in kernels that compute. The flow's own branch ("low
/// accelerator activity") has no figure.
const BUSY: f64 = 0.80;

/// How deep the evidence had to go. Each level is collected only where the one above it points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The job's own timeline.
    JobTimeline,
    /// Traces of several ranks.
    DistributedTrace,
    /// One rank's kernel timeline.
    KernelTimeline,
    /// Hardware counters of single kernels.
    Counters,
}

impl Level {
    /// The word used in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::JobTimeline => "job_timeline",
            Self::DistributedTrace => "distributed_trace",
            Self::KernelTimeline => "kernel_timeline",
            Self::Counters => "counters",
        }
    }

    /// The name that a report shows.
    pub fn label(self) -> &'static str {
        match self {
            Self::JobTimeline => "job timeline",
            Self::DistributedTrace => "distributed trace",
            Self::KernelTimeline => "kernel timeline",
            Self::Counters => "hardware counters",
        }
    }
}

/// A question of the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Question {
    /// Does the device compute most of the time?
    Busy,
    /// Does it wait for the next batch?
    InputWait,
    /// Does it wait for peers or stages?
    Synchronisation,
    /// Is communication exposed?
    Communication,
    /// Does the host dispatch too slowly?
    Dispatch,
    /// Near which ceiling are its kernels?
    Roofline,
}

impl Question {
    /// The question in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Busy => "Does the device compute most of the time?",
            Self::InputWait => "Does it mostly wait for the next batch?",
            Self::Synchronisation => "Does it mostly wait for peers or stages?",
            Self::Communication => "Is it mostly exposed communication?",
            Self::Dispatch => "Is the host mostly too late?",
            Self::Roofline => "Which ceiling are its kernels near?",
        }
    }
}

/// A question with its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What was asked.
    pub question: Question,
    /// Whether the answer is yes.
    pub yes: bool,
    /// The figure behind the answer.
    pub figure: String,
}

/// How the flow went and where it stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct Triage {
    /// Questions in the order asked.
    pub answers: Vec<Answer>,
    /// Where it stopped.
    pub level: Level,
    /// The term named; `None` when the next level's evidence is missing.
    pub term: Option<Term>,
    /// What to collect next, when no term could be named.
    pub next: Option<&'static str>,
}

/// Walks the flow. `None` without traced device-time.
pub fn triage(e: &Evidence) -> Option<Triage> {
    if e.window_ns <= 0 {
        return None;
    }
    let mut flow = Flow { answers: Vec::new(), whole: e.window_ns };
    if flow.ask(Question::Busy, e.computing_ns(), BUSY) {
        return Some(flow.roofline(e));
    }
    let waits = [
        (
            Question::InputWait,
            Level::JobTimeline,
            Term::Input,
            e.sum(|c| c == Charge::HostLate(HostCause::DataLoader)),
        ),
        (
            Question::Synchronisation,
            Level::DistributedTrace,
            Term::Synchronisation,
            e.sum(|c| matches!(c, Charge::PeerWait | Charge::Bubble)),
        ),
        (
            Question::Communication,
            Level::DistributedTrace,
            Term::Communication,
            e.sum(|c| matches!(c, Charge::Transfer(_) | Charge::CommunicationNotSplit(_))),
        ),
        (Question::Dispatch, Level::KernelTimeline, Term::Dispatch, e.sum(|c| c.term() == Term::Dispatch)),
    ];
    let most = waits.iter().map(|(.., ns)| *ns).max().unwrap_or(0);
    for (question, level, term, ns) in waits {
        let is_largest = ns == most && ratio(ns, e.window_ns) >= NOTICEABLE;
        flow.answer(question, is_largest, ns);
        if !is_largest {
            continue;
        }
        if term == Term::Communication && needs_peers(e) {
            let next = Some(
                "trace the other members of the group in the same steps: one rank cannot tell transfer from waiting",
            );
            return Some(Triage { answers: flow.answers, level, term: None, next });
        }
        return Some(Triage { answers: flow.answers, level, term: Some(term), next: None });
    }
    let next =
        Some("idle time without a known launch: record the runtime calls (CUDA or HIP API) with the kernels");
    Some(Triage { answers: flow.answers, level: Level::KernelTimeline, term: None, next })
}

struct Flow {
    answers: Vec<Answer>,
    whole: i64,
}

impl Flow {
    fn ask(&mut self, question: Question, ns: i64, at_least: f64) -> bool {
        let yes = ratio(ns, self.whole) >= at_least;
        self.answer(question, yes, ns);
        yes
    }

    fn answer(&mut self, question: Question, yes: bool, ns: i64) {
        let figure = format!("{} of the traced device-time", percent(ratio(ns, self.whole)));
        self.answers.push(Answer { question, yes, figure });
    }

    fn roofline(mut self, e: &Evidence) -> Triage {
        let Some(time) = e.roofline else {
            let next = Some(
                "record operator shapes (record_shapes=True) or counters, so that kernels can be placed on the roofline",
            );
            return Triage { answers: self.answers, level: Level::Counters, term: None, next };
        };
        let sides = [
            (Term::DataMovement, time.bandwidth_ns, "near the bandwidth ceiling"),
            (Term::Arithmetic, time.compute_ns, "near the compute ceiling"),
            (Term::Arithmetic, time.below_both_ns, "far below both ceilings"),
        ];
        let placed = time.placed_ns();
        let (term, ns, place) = sides.into_iter().max_by_key(|(_, ns, _)| *ns).unwrap_or(sides[0]);
        let figure = format!("{} of the placed compute time is {place}", percent(ratio(ns, placed)));
        self.answers.push(Answer { question: Question::Roofline, yes: placed > 0, figure });
        Triage {
            answers: self.answers,
            level: Level::Counters,
            term: (placed > 0).then_some(term),
            next: None,
        }
    }
}
