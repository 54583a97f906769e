//! A ledger as reports show it: exact amounts, the same in device-hours, factors with their bounds.

use goodput_core::{Boundary, CapacityTime, Chain, Factor, Ledger, Levels, Pattern};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::exact::Exact;
use super::read::Sources;

/// The runtime categories that a report always names, zero or not.
const ALWAYS_NAMED: [Pattern; 7] = [
    Pattern::Startup,
    Pattern::InputWait,
    Pattern::CheckpointPause,
    Pattern::Rework,
    Pattern::Recovery,
    Pattern::Preemption,
    Pattern::Evaluation,
];

/// A map in a fixed order, a JSON object.
#[derive(Debug, Clone, PartialEq)]
pub struct Keyed<T>(pub Vec<(String, T)>);

impl<T: Serialize> Serialize for Keyed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Capacity-time at each level and of each loss, in exact device-nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CapacityTimeView {
    /// Absent for one job: what was offered is a property of its pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_ns: Option<Exact>,
    /// Held by complete allocations.
    pub held_ns: Exact,
    /// Productive time on retained steps.
    pub retained_ns: Exact,
    /// The same steps at the ideal rate.
    pub ideal_ns: Exact,
    /// Offered and not held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_losses: Option<Keyed<Exact>>,
    /// Held and not retained.
    pub runtime_losses: Keyed<Exact>,
    /// Retained and below the ideal rate.
    pub program_losses: Keyed<Exact>,
}

/// The same as [`CapacityTimeView`] in device-hours, for people: rounded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceHoursView {
    /// Absent for one job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered: Option<f64>,
    /// Held.
    pub held: f64,
    /// Retained.
    pub retained: f64,
    /// Ideal.
    pub ideal: f64,
    /// By pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_losses: Option<Keyed<f64>>,
    /// By pattern.
    pub runtime_losses: Keyed<f64>,
    /// By pattern.
    pub program_losses: Keyed<f64>,
}

/// The factors on their settled share; `None` where nothing is settled or the factor is not a property of the scope.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FactorsView {
    /// Held over offered.
    pub scheduling: Option<f64>,
    /// Retained over held.
    pub runtime: Option<f64>,
    /// Ideal over retained.
    pub program: Option<f64>,
    /// Ideal over offered.
    pub mpg: Option<f64>,
    /// Runtime x program goodput: what a team can improve inside its own allocation.
    pub job_product: Option<f64>,
}

/// A factor with the share of capacity that settles it, and the bounds that the rest allows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FactorBoundsView {
    /// On the settled share.
    pub settled: Option<f64>,
    /// The settled share.
    pub coverage: f64,
    /// If everything unsettled were lost.
    pub low: f64,
    /// If everything unsettled crossed.
    pub high: f64,
}

impl From<Factor> for FactorBoundsView {
    fn from(f: Factor) -> Self {
        Self { settled: f.settled, coverage: f.coverage, low: f.low, high: f.high }
    }
}

/// Bounds of every factor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AllBoundsView {
    /// Held over offered.
    pub scheduling: Option<FactorBoundsView>,
    /// Retained over held.
    pub runtime: FactorBoundsView,
    /// Ideal over retained.
    pub program: FactorBoundsView,
    /// Ideal over offered.
    pub mpg: Option<FactorBoundsView>,
}

/// Shares of what the scope divides by (offered for a fleet or pool, held for one job); they sum to one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LossSharesView {
    /// Lost at the scheduling boundary.
    pub scheduling: Option<f64>,
    /// Lost at the runtime boundary, open amounts included.
    pub runtime: Option<f64>,
    /// Lost at the program boundary, open amounts included.
    pub program: Option<f64>,
    /// Ideal-rate progress.
    pub useful: Option<f64>,
}

/// Points of the product (MPG of a fleet or pool, job product of one job) that one point of a factor adds: the product
/// of the other factors, on their settled shares.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct MarginalValuesView {
    /// A point of scheduling goodput.
    pub scheduling: Option<f64>,
    /// A point of runtime goodput.
    pub runtime: Option<f64>,
    /// A point of program goodput.
    pub program: Option<f64>,
}

impl MarginalValuesView {
    fn new(chain: &Chain, scope: Scope) -> Self {
        // A job has no scheduling goodput of its own: its product is the other two.
        let boundaries = if scope == Scope::Pool { &Boundary::ALL[..] } else { &Boundary::ALL[1..] };
        let of = |boundary: Boundary| -> Option<f64> {
            let others = boundaries.iter().filter(|&&other| other != boundary);
            others.map(|&other| chain.factor(other).settled).product()
        };
        Self {
            scheduling: if scope == Scope::Pool { of(Boundary::Scheduling) } else { None },
            runtime: of(Boundary::Runtime),
            program: of(Boundary::Program),
        }
    }
}

/// A whole ledger.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LedgerView {
    /// Exact amounts.
    pub capacity_time: CapacityTimeView,
    /// Settled factors.
    pub factors: FactorsView,
    /// Their coverage and bounds.
    pub factor_bounds: AllBoundsView,
    /// What one point of each factor is worth.
    pub marginal_values: MarginalValuesView,
    /// Loss shares.
    pub loss_shares: LossSharesView,
    /// The amounts for people.
    pub device_hours: DeviceHoursView,
}

/// Whose ledger it is: one job has no offered capacity of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Pool,
    Job,
}

impl LedgerView {
    pub(crate) fn new(ledger: &Ledger, scope: Scope) -> Self {
        let chain = ledger.chain();
        let Levels { offered, held, retained, ideal } = chain.levels();
        let pool = scope == Scope::Pool;
        let losses = |boundary| -> Vec<(Pattern, CapacityTime)> {
            Pattern::at(boundary)
                .map(|p| (p, ledger.amount(p)))
                .filter(|(p, amount)| !amount.is_zero() || ALWAYS_NAMED.contains(p))
                .collect()
        };
        let exact = |boundary| {
            Keyed(losses(boundary).into_iter().map(|(p, a)| (format!("{}_ns", p.key()), a.into())).collect())
        };
        let hours = |boundary| {
            Keyed(losses(boundary).into_iter().map(|(p, a)| (p.key().to_owned(), a.device_hours())).collect())
        };
        let whole = if pool { offered } else { held };
        let share =
            |boundary| (chain.levels().arrived(boundary) - chain.levels().crossed(boundary)).share_of(whole);
        let (runtime, program) = (chain.factor(Boundary::Runtime), chain.factor(Boundary::Program));
        let scheduling = pool.then(|| chain.factor(Boundary::Scheduling));
        let mpg = pool.then(|| chain.mpg());
        Self {
            capacity_time: CapacityTimeView {
                offered_ns: pool.then(|| offered.into()),
                held_ns: held.into(),
                retained_ns: retained.into(),
                ideal_ns: ideal.into(),
                scheduling_losses: pool.then(|| exact(Boundary::Scheduling)),
                runtime_losses: exact(Boundary::Runtime),
                program_losses: exact(Boundary::Program),
            },
            factors: FactorsView {
                scheduling: scheduling.and_then(|f| f.settled),
                runtime: runtime.settled,
                program: program.settled,
                mpg: mpg.and_then(|f| f.settled),
                job_product: chain.job_product(),
            },
            factor_bounds: AllBoundsView {
                scheduling: scheduling.map(Into::into),
                runtime: runtime.into(),
                program: program.into(),
                mpg: mpg.map(Into::into),
            },
            marginal_values: MarginalValuesView::new(chain, scope),
            loss_shares: LossSharesView {
                scheduling: pool.then(|| share(Boundary::Scheduling)).flatten(),
                runtime: share(Boundary::Runtime),
                program: share(Boundary::Program),
                useful: ideal.share_of(whole),
            },
            device_hours: DeviceHoursView {
                offered: pool.then(|| offered.device_hours()),
                held: held.device_hours(),
                retained: retained.device_hours(),
                ideal: ideal.device_hours(),
                scheduling_losses: pool.then(|| hours(Boundary::Scheduling)),
                runtime_losses: hours(Boundary::Runtime),
                program_losses: hours(Boundary::Program),
            },
        }
    }
}

impl LedgerView {
    /// Takes back the program factor and the products that rest on it; the amounts stay.
    pub(super) fn withhold_program(&mut self) {
        (self.factors.program, self.factors.mpg, self.factors.job_product) = (None, None, None);
        self.factor_bounds.program.settled = None;
        self.marginal_values = MarginalValuesView::default();
        if let Some(mpg) = &mut self.factor_bounds.mpg {
            mpg.settled = None;
        }
    }
}

/// One loss of the ledger: what, how much, where it is counted, who can recover it, where to look.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LossView {
    /// The pattern itself, for renderers.
    #[serde(skip)]
    pub kind: Pattern,
    /// The first boundary missed.
    pub boundary: &'static str,
    /// The category word, unique within its boundary.
    pub pattern: &'static str,
    /// The name for people.
    pub label: &'static str,
    /// The first layer that can recover it.
    pub owner: &'static str,
    /// Every layer that can recover it.
    pub owners: Vec<&'static str>,
    /// What recovers it.
    pub lever: &'static str,
    /// How much, in device-nanoseconds.
    pub amount_ns: Exact,
    /// How much, in device-hours.
    pub device_hours: f64,
    /// Share of the scope's whole.
    pub share: Option<f64>,
    /// Whether the evidence leaves open that it may still cross.
    pub open: bool,
    /// Records that show it.
    pub evidence: Vec<String>,
}

impl LossView {
    /// What the evidence at `boundary` leaves open: it may still cross.
    pub(crate) fn open_at(losses: &[Self], boundary: Boundary) -> Exact {
        let at = |l: &&Self| l.open && l.kind.boundary() == boundary;
        Exact(losses.iter().filter(at).map(|l| l.amount_ns.0).sum())
    }

    /// Evidence kept of each loss.
    const EVIDENCE: usize = 3;

    /// The losses of a ledger, the largest first.
    pub(crate) fn of(ledger: &Ledger, whole: CapacityTime, sources: &Sources<'_>) -> Vec<Self> {
        let mut losses: Vec<_> = ledger
            .losses()
            .iter()
            .map(|loss| Self {
                kind: loss.pattern,
                boundary: loss.pattern.boundary().key(),
                pattern: loss.pattern.key(),
                label: loss.pattern.label(),
                owner: loss.pattern.owner().key(),
                owners: loss.pattern.owners().iter().map(|o| o.key()).collect(),
                lever: loss.pattern.lever(),
                amount_ns: loss.amount.into(),
                device_hours: loss.amount.device_hours(),
                share: loss.amount.share_of(whole),
                open: loss.pattern.is_open(),
                evidence: loss.evidence.iter().take(Self::EVIDENCE).map(|&s| sources.name(s)).collect(),
            })
            .collect();
        losses.sort_by_key(|loss| std::cmp::Reverse(loss.amount_ns));
        losses
    }
}
