//! Timed calls of one device put together: measurements of the same call become their median.

use std::collections::BTreeSet;

use goodput_model::device::Device;
use rustc_hash::FxHashMap;

use super::Calibration;
use super::call::{Call, Timed};
use super::summary::modelled;
use super::sustained;
use crate::kernel::{KernelTables, Power};

/// Of a measured time over the model's; a unit taken for the next one is a factor of 1,000.
const MOST_TIMES: f64 = 1e4;

/// Calls of one device as they are read.
#[derive(Debug)]
pub struct Collector {
    device: String,
    tables: KernelTables,
    times: FxHashMap<(Call, Power), Times>,
    software: BTreeSet<String>,
    conditions: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Times {
    ns: Vec<f64>,
    /// Spreads that the table states itself.
    spreads: Vec<f64>,
    repeats: u64,
}

impl Collector {
    /// For a device of the catalogue.
    #[must_use]
    pub fn new(device: &Device) -> Self {
        Self {
            device: device.name.clone(),
            tables: KernelTables::new(device),
            times: FxHashMap::default(),
            software: BTreeSet::new(),
            conditions: BTreeSet::new(),
        }
    }

    /// Adds a call, unless the device cannot have been so fast, or so slow that the time must be another's.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn add(&mut self, timed: &Timed) -> Result<(), String> {
        if let Some(why) = timed.call.impossible(timed.ns, &self.tables) {
            return Err(why);
        }
        if let Some(why) = self.too_slow(timed) {
            return Err(why);
        }
        let times = self.times.entry((timed.call, timed.power)).or_default();
        times.ns.push(timed.ns);
        times.spreads.extend(timed.spread);
        times.repeats += timed.repeats;
        Ok(())
    }

    /// Why the time is hardly that of the call, far above what the model says.
    fn too_slow(&self, timed: &Timed) -> Option<String> {
        let (ns, _) = modelled(&timed.call, &self.tables, &self.device).filter(|(ns, _)| *ns > 0.0)?;
        let times = timed.ns / ns;
        (times > MOST_TIMES).then(|| {
            format!(
                "{:.6} us is {times:.0} times the {:.6} us that the model says, above {MOST_TIMES} times: is the time that of \
                 one call, in the column's unit (time_ns, time_us, time_ms, time_s)?",
                timed.ns / 1e3,
                ns / 1e3
            )
        })
    }

    /// Notes with what software and at what clocks and power limits it was measured.
    pub fn note(&mut self, software: &str, conditions: &str) {
        for (set, text) in [(&mut self.software, software), (&mut self.conditions, conditions)] {
            if !text.is_empty() && !set.contains(text) {
                set.insert(text.to_owned());
            }
        }
    }

    /// Calls read so far, the same ones once.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether none was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Everything in order, with the sustained factor where calls were measured in both states of the clock.
    #[must_use]
    pub fn finish(self) -> Calibration {
        let mut rows: Vec<Timed> = self
            .times
            .into_iter()
            .map(|((call, power), times)| {
                let Times { mut ns, mut spreads, repeats } = times;
                let middle = median(&mut ns);
                let stated = (!spreads.is_empty()).then(|| median(&mut spreads));
                let found = (ns.len() > 1).then(|| relative_spread(&ns, middle));
                let spread = match (stated, found) {
                    (Some(one), Some(other)) => Some(one.max(other)),
                    (one, other) => one.or(other),
                };
                Timed { call, power, ns: middle, spread, repeats }
            })
            .collect();
        rows.sort_unstable_by_key(|row| (row.call, row.power));
        let sustained = sustained::curve(&rows, &self.tables);
        Calibration {
            device: self.device,
            software: self.software.into_iter().collect(),
            conditions: self.conditions.into_iter().collect(),
            sustained,
            rows,
        }
    }
}

/// The middle of values, which it sorts; the mean of two in the middle.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    match values {
        [] => f64::NAN,
        _ if values.len() % 2 == 1 => values[half],
        _ => f64::midpoint(values[half - 1], values[half]),
    }
}

/// Median absolute deviation as a standard deviation (1.4826 of it, for a normal distribution), over the middle.
fn relative_spread(values: &[f64], middle: f64) -> f64 {
    let mut apart: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    1.4826 * median(&mut apart) / middle
}
