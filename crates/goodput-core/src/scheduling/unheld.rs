//! Charges the unheld devices of a pool at one instant: each device once, in a fixed order.

use crate::pattern::Pattern;

use super::demand::{Demand, Role, Shapes};
use super::free_nodes::FreeNodes;

/// The classes of unheld capacity, in the order of [`PATTERNS`].
pub(super) const CLASSES: usize = 9;

/// The pattern of each class.
pub(super) const PATTERNS: [Pattern; CLASSES] = [
    Pattern::NoDemand,
    Pattern::QuotaBlocked,
    Pattern::Fragmentation,
    Pattern::TooFewFree,
    Pattern::GangReservation,
    Pattern::PartialGangHold,
    Pattern::SchedulerDelay,
    Pattern::UnheldUnsettled,
    Pattern::Unrecorded,
];

/// Devices of each class at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Charge {
    pub no_demand: i64,
    pub quota: i64,
    pub fragmentation: i64,
    pub too_few: i64,
    pub reservation: i64,
    pub partial: i64,
    pub delay: i64,
    pub unsettled: i64,
    pub unrecorded: i64,
}

impl Charge {
    /// In the order of [`PATTERNS`].
    pub fn classes(self) -> [i64; CLASSES] {
        [
            self.no_demand,
            self.quota,
            self.fragmentation,
            self.too_few,
            self.reservation,
            self.partial,
            self.delay,
            self.unsettled,
            self.unrecorded,
        ]
    }
}

/// What the records can tell at this instant.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    /// Job records or snapshots reach this instant: what is not held is known to be free.
    pub held: bool,
    /// Job records exist and reach this instant; without them nothing is known of the demand.
    pub demand: bool,
    /// Node snapshots cover the instant: nodes kept for a gang are known.
    pub planned: bool,
    /// Queue snapshots cover the instant: jobs that a limit blocks are known.
    pub reasons: bool,
}

/// Free devices and how they lie.
pub(super) struct Free<'a> {
    /// Free devices in service, not assigned to any gang.
    pub devices: i64,
    /// Devices assigned to gangs that are not complete.
    pub partial: i64,
    /// Of the free ones, on nodes that a snapshot shows as kept for a gang.
    pub planned: i64,
    /// Nodes in service by their number of free devices; `None` when node lists are missing.
    pub nodes: Option<&'a FreeNodes>,
}

impl Free<'_> {
    /// Whether a gang of `nodes` nodes with `per_node` devices each finds its nodes; `None` when unknown.
    fn holds(&self, nodes: u32, per_node: u64) -> Option<bool> {
        Some(self.nodes?.at_least(per_node) >= nodes)
    }
}

/// Charges `free.devices + free.partial` devices.
///
/// The order is: no demand, quota or limit, fragmentation, too few free, kept free or partly held for a gang,
/// fits and was not started, unsettled. Each class takes at most what its jobs ask for and leaves the rest to the
/// next; what exceeds all that is asked for has no demand. Too few are free when no gang that is left fits; if one
/// fits, the devices may be kept for a larger gang, which only snapshots tell.
pub(super) fn charge(free: &Free<'_>, demand: &Demand, shapes: &mut Shapes, known: Known) -> Charge {
    // Devices assigned to an incomplete gang are not free: no other class can claim them.
    let mut charge = Charge { partial: free.partial, ..Charge::default() };
    let mut left = free.devices;
    if !known.held {
        charge.unrecorded = left;
        return charge;
    }
    if left == 0 || !known.demand {
        charge.unsettled = left;
        return charge;
    }
    let mut take = |most: i64| {
        let taken = left.min(most).max(0);
        left -= taken;
        taken
    };
    charge.no_demand = take(free.devices - demand.devices);
    charge.quota = take(demand.limited);
    let asked = asked_by_role(free, demand, shapes);
    let asked = |role: Role| asked[role as usize];
    charge.fragmentation = take(asked(Role::Misshapen));
    if asked(Role::Fits) == 0 && asked(Role::Unknown) == 0 {
        charge.too_few = take(asked(Role::TooBig));
    }
    if known.planned {
        charge.reservation = take(free.planned);
        if known.reasons {
            charge.delay = take(asked(Role::Fits));
            if asked(Role::Unknown) == 0 {
                // Had the gangs that fit been started, the rest would be too few for those that remain.
                charge.too_few += take(asked(Role::TooBig));
            }
        }
    }
    charge.unsettled = left;
    charge
}

/// Devices that eligible gangs ask for, by what keeps them from starting.
fn asked_by_role(free: &Free<'_>, demand: &Demand, shapes: &mut Shapes) -> [i64; Role::COUNT] {
    let mut by_role = [0i64; Role::COUNT];
    by_role[Role::Unknown as usize] = demand.shapeless;
    for &number in &demand.active {
        let waiting = &mut shapes.waiting[number as usize];
        let role = if waiting.devices > free.devices {
            Role::TooBig
        } else if waiting.devices <= 1 {
            Role::Fits
        } else {
            match waiting.per_node.and_then(|per_node| free.holds(waiting.shape.nodes, per_node)) {
                Some(true) => Role::Fits,
                Some(false) => Role::Misshapen,
                None => Role::Unknown,
            }
        };
        if free.devices > 0 {
            waiting.roles[role as usize] = true;
        }
        by_role[role as usize] += waiting.asked;
    }
    by_role
}
