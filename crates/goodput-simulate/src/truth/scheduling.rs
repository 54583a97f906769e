//! Capacity-time of a pool by what it was used for, added up while the simulation runs.
//!
//! The classes and their order are those of the definitions (`docs/design.md`, "Unheld"), judged
//! from the true state of nodes and queue at every instant. No accounting code is used here.

use goodput_core::Pattern;

use crate::world::NodeState;

/// A waiting, eligible gang.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    pub nodes: u32,
    pub devices_per_node: u32,
    pub over_quota: bool,
}

impl Demand {
    fn devices(&self) -> i128 {
        i128::from(self.nodes) * i128::from(self.devices_per_node)
    }
}

/// A pool's capacity-time in device-seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolTime {
    /// All devices.
    pub installed: i128,
    /// Free on nodes that were down, drained or in maintenance.
    pub out_of_service: i128,
    /// Held by jobs.
    pub jobs: i128,
    /// Held by standing reservations, idle.
    pub idle_reservation: i128,
    /// Free: no eligible job asks for it.
    pub no_demand: i128,
    /// Free: asked for by jobs over their quota.
    pub quota_blocked: i128,
    /// Free: enough by count for jobs that find no nodes of their shape.
    pub fragmentation: i128,
    /// Free: too few for any waiting gang.
    pub too_few_free: i128,
    /// Free: kept for a gang.
    pub gang_reservation: i128,
    /// Free: a job fits and was not started.
    pub scheduler_delay: i128,
}

impl PoolTime {
    /// In service: what the pool offers.
    pub fn offered(&self) -> i128 {
        self.installed - self.out_of_service
    }

    /// Held, by jobs or idle in a standing reservation.
    pub fn held(&self) -> i128 {
        self.jobs + self.idle_reservation
    }

    /// What was offered and not held, by cause; sums to `offered - held`.
    pub fn unheld(&self) -> [(Pattern, i128); 6] {
        [
            (Pattern::NoDemand, self.no_demand),
            (Pattern::QuotaBlocked, self.quota_blocked),
            (Pattern::Fragmentation, self.fragmentation),
            (Pattern::TooFewFree, self.too_few_free),
            (Pattern::GangReservation, self.gang_reservation),
            (Pattern::SchedulerDelay, self.scheduler_delay),
        ]
    }

    /// Adds `seconds` in which nodes and waiting gangs stood as given.
    pub(crate) fn observe<'a>(
        &mut self,
        nodes: impl Iterator<Item = &'a NodeState>,
        waiting: &[Demand],
        seconds: i64,
    ) {
        let seconds = i128::from(seconds);
        let mut free_nodes = Vec::new();
        let mut planned = 0;
        for node in nodes {
            let free = i128::from(node.free);
            self.installed += i128::from(node.devices) * seconds;
            self.jobs += (i128::from(node.devices) - free) * seconds;
            if node.out().is_some() {
                self.out_of_service += free * seconds;
            } else if node.reserved.is_some() {
                self.idle_reservation += free * seconds;
            } else {
                free_nodes.push(node.free);
                planned += if node.is_kept() { free } else { 0 };
            }
        }
        let free: i128 = free_nodes.iter().map(|&f| i128::from(f)).sum();
        let asked = |which: &dyn Fn(&&Demand) -> bool| -> i128 {
            waiting.iter().filter(|d| which(d)).map(Demand::devices).sum()
        };
        let finds_nodes =
            |d: &Demand| free_nodes.iter().filter(|&&f| f >= d.devices_per_node).count() >= d.nodes as usize;
        let fits = asked(&|d| !d.over_quota && finds_nodes(d));
        let too_big = asked(&|d| !d.over_quota && d.devices() > free);
        let misshapen = asked(&|d| !d.over_quota && d.devices() <= free && !finds_nodes(d));

        let mut left = free;
        let mut charge = |class: &mut i128, most: i128| {
            let devices = most.clamp(0, left);
            *class += devices * seconds;
            left -= devices;
        };
        charge(&mut self.no_demand, free - asked(&|_| true));
        charge(&mut self.quota_blocked, asked(&|d| d.over_quota));
        charge(&mut self.fragmentation, misshapen);
        if fits == 0 {
            charge(&mut self.too_few_free, too_big);
        }
        charge(&mut self.gang_reservation, planned);
        charge(&mut self.scheduler_delay, fits);
        // With what fits started, the rest is too few for the gangs that remain.
        charge(&mut self.too_few_free, too_big);
    }
}
