//! The fleet as a whole: idle capacity of one pool beside unmet demand of another.

use crate::records::Symbol;
use crate::time::{Timestamp, Window};

use super::layout::LayoutPool;
use super::pool::{PoolState, Rates};
use super::series::{Level, Series};

/// What of the pools' idle capacity the fleet's other demand could have used.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FleetTotals {
    pub no_demand: i128,
    /// No demand in its own pool, wanted by a pool of the same device type.
    pub behind_pool_bounds: i128,
    /// No demand in its own pool, wanted only by pools of another device type.
    pub other_type: i128,
    pub free_waiting: i128,
    pub free_empty: i128,
    pub free_other_waiting: i128,
    pub quota_stranded: i128,
    pub waiting_ns: i64,
    pub most_devices: i64,
}

/// Sums over pools at one instant.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    installed: i64,
    offered: i64,
    held: i64,
    free_waiting: i64,
    free_empty: i64,
    asked: i64,
    waiting_jobs: u64,
}

/// The fleet during the sweep.
#[derive(Debug)]
pub(super) struct FleetScope {
    /// Device type of each pool, numbered.
    type_of: Vec<usize>,
    sums: Sums,
    /// By device type: devices without demand in their own pool, and demand beyond what its own pool has free.
    idle: Vec<i64>,
    unmet: Vec<i64>,
    pub totals: FleetTotals,
    pub series: Series,
}

impl FleetScope {
    pub fn new(window: Window, points: usize, pools: &[LayoutPool]) -> Self {
        let mut types: Vec<Symbol> = Vec::new();
        let type_of = pools
            .iter()
            .map(|pool| {
                types.iter().position(|t| *t == pool.device_type).unwrap_or_else(|| {
                    types.push(pool.device_type);
                    types.len() - 1
                })
            })
            .collect();
        Self {
            type_of,
            sums: Sums::default(),
            idle: vec![0; types.len()],
            unmet: vec![0; types.len()],
            totals: FleetTotals::default(),
            series: Series::new(window, points),
        }
    }

    /// The rates of one pool are no longer these.
    pub fn remove(&mut self, pool: u32, rates: &Rates) {
        let sums = &mut self.sums;
        sums.installed -= rates.installed;
        sums.offered -= rates.offered;
        sums.held -= rates.held;
        sums.free_waiting -= rates.free_waiting();
        sums.free_empty -= rates.free_empty();
        sums.asked -= rates.asked;
        sums.waiting_jobs -= rates.waiting_jobs;
        let kind = self.type_of[pool as usize];
        self.idle[kind] -= rates.charge.no_demand;
        self.unmet[kind] -= rates.unmet();
    }

    /// The rates of one pool are these from now on.
    pub fn add(&mut self, pool: u32, rates: &Rates) {
        let sums = &mut self.sums;
        sums.installed += rates.installed;
        sums.offered += rates.offered;
        sums.held += rates.held;
        sums.free_waiting += rates.free_waiting();
        sums.free_empty += rates.free_empty();
        sums.asked += rates.asked;
        sums.waiting_jobs += rates.waiting_jobs;
        let kind = self.type_of[pool as usize];
        self.idle[kind] += rates.charge.no_demand;
        self.unmet[kind] += rates.unmet();
    }

    /// Lets time pass with nothing changing.
    pub fn advance(&mut self, pools: &mut [PoolState], from: Timestamp, to: Timestamp) {
        let ns = to - from;
        if ns <= 0 {
            return;
        }
        let time = |devices: i64| i128::from(devices) * i128::from(ns);
        let (mut same, mut idle, mut unmet) = (0, 0, 0);
        for (&idle_of_type, &unmet_of_type) in self.idle.iter().zip(&self.unmet) {
            let shared = idle_of_type.min(unmet_of_type);
            same += shared;
            idle += idle_of_type - shared;
            unmet += unmet_of_type - shared;
        }
        let other = idle.min(unmet);
        let sums = self.sums;
        let totals = &mut self.totals;
        totals.behind_pool_bounds += time(same);
        totals.other_type += time(other);
        totals.no_demand += time(idle - other);
        totals.most_devices = totals.most_devices.max(sums.installed);
        if sums.waiting_jobs > 0 {
            totals.waiting_ns += ns;
            totals.free_waiting += time(sums.free_waiting + sums.free_empty);
            totals.free_other_waiting += time(sums.free_empty);
            // Demand elsewhere, less what the waiting pools have free themselves.
            let elsewhere = (sums.asked - sums.free_waiting).max(0);
            totals.quota_stranded += time(sums.free_empty.min(elsewhere));
            if sums.free_empty > 0 {
                for pool in pools.iter_mut() {
                    let free = pool.rates.free_empty();
                    pool.totals.free_other_waiting += time(free);
                    pool.totals.quota_stranded += time(free.min(elsewhere));
                }
            }
        } else {
            totals.free_empty += time(sums.free_empty);
        }
        let largest = pools.iter().try_fold(0, |most, pool| Some(pool.rates.largest_gang_nodes?.max(most)));
        let level = Level {
            offered: sums.offered,
            held: sums.held,
            waiting_jobs: sums.waiting_jobs,
            waiting_devices: u64::try_from(sums.asked).unwrap_or(0),
            largest_gang_nodes: largest,
        };
        self.series.add(from, to, &level);
    }
}
