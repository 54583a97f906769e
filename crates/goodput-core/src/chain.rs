//! The chain offered -> held -> retained -> ideal, and the factors that come only from it.

use std::ops::AddAssign;

use crate::boundary::Boundary;
use crate::capacity::CapacityTime;
use crate::time::Window;

/// Capacity-time at the four levels of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Levels {
    /// In-service (or installed) devices times the window.
    pub offered: CapacityTime,
    /// Held by complete allocations.
    pub held: CapacityTime,
    /// Productive time on retained steps.
    pub retained: CapacityTime,
    /// The time the retained steps would take at the ideal rate.
    pub ideal: CapacityTime,
}

impl Levels {
    /// What arrived at `boundary`.
    pub fn arrived(&self, boundary: Boundary) -> CapacityTime {
        match boundary {
            Boundary::Scheduling => self.offered,
            Boundary::Runtime => self.held,
            Boundary::Program => self.retained,
        }
    }

    /// What crossed `boundary`.
    pub fn crossed(&self, boundary: Boundary) -> CapacityTime {
        match boundary {
            Boundary::Scheduling => self.held,
            Boundary::Runtime => self.retained,
            Boundary::Program => self.ideal,
        }
    }
}

impl AddAssign for Levels {
    fn add_assign(&mut self, rhs: Self) {
        self.offered += rhs.offered;
        self.held += rhs.held;
        self.retained += rhs.retained;
        self.ideal += rhs.ideal;
    }
}

/// A factor (or product): its value on the settled share, that share, and the bounds that the
/// unsettled rest allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factor {
    /// Crossed over arrived, on the settled share. `None` when nothing is settled.
    pub settled: Option<f64>,
    /// The share of what arrived on which the evidence settles the factor.
    pub coverage: f64,
    /// The value if everything unsettled were lost.
    pub low: f64,
    /// The value if everything unsettled crossed.
    pub high: f64,
}

impl Factor {
    fn of(crossed: CapacityTime, arrived: CapacityTime, open: CapacityTime) -> Self {
        let share = |c: CapacityTime| c.share_of(arrived).unwrap_or(0.0);
        Self {
            settled: crossed.share_of(arrived - open),
            coverage: share(arrived - open),
            low: share(crossed),
            high: share(crossed + open),
        }
    }
}

/// The four levels of one window, with the amounts that the evidence leaves open. The three
/// factors, MPG and the loss shares come only from here; a product of factors of different windows
/// cannot be formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    window: Window,
    levels: Levels,
    open: Open,
}

/// Amounts that arrived at a boundary and of which the evidence does not say whether they crossed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Open {
    /// Offered time of which no record tells whether it was held.
    pub scheduling: CapacityTime,
    /// Held time whose use is unsettled.
    pub runtime: CapacityTime,
    /// Retained time whose ideal is unsettled.
    pub program: CapacityTime,
}

impl Open {
    fn at(self, boundary: Boundary) -> CapacityTime {
        match boundary {
            Boundary::Scheduling => self.scheduling,
            Boundary::Runtime => self.runtime,
            Boundary::Program => self.program,
        }
    }
}

impl Chain {
    /// A chain that the evidence settles whole.
    pub fn settled(window: Window, levels: Levels) -> Self {
        Self::with_open(window, levels, Open::default())
    }

    /// A chain with open amounts.
    pub fn with_open(window: Window, levels: Levels, open: Open) -> Self {
        Self { window, levels, open }
    }

    /// The window that every factor of this chain carries.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Capacity-time at each level.
    pub fn levels(&self) -> Levels {
        self.levels
    }

    /// The factor of `boundary`.
    pub fn factor(&self, boundary: Boundary) -> Factor {
        let levels = &self.levels;
        Factor::of(levels.crossed(boundary), levels.arrived(boundary), self.open.at(boundary))
    }

    /// Scheduling x runtime x program goodput. The settled value is the product of the settled
    /// factors, its coverage the product of their coverages; the bounds are of ideal over offered.
    pub fn mpg(&self) -> Factor {
        let ideal = self.levels.ideal;
        let open = Boundary::ALL.map(|boundary| self.open.at(boundary)).into_iter().sum::<CapacityTime>();
        let bound = |c: CapacityTime| c.share_of(self.levels.offered).unwrap_or(0.0);
        let factors = Boundary::ALL.map(|b| self.factor(b));
        let settled = if open.is_zero() {
            ideal.share_of(self.levels.offered)
        } else {
            factors.iter().map(|f| f.settled).product()
        };
        Factor {
            settled,
            coverage: factors.iter().map(|f| f.coverage).product(),
            low: bound(ideal),
            high: bound(ideal + open),
        }
    }

    /// Runtime x program goodput: what a team can improve inside its own allocation.
    pub fn job_product(&self) -> Option<f64> {
        let settled = |b| self.factor(b).settled;
        Some(settled(Boundary::Runtime)? * settled(Boundary::Program)?)
    }

    /// The share of offered capacity that does not cross `boundary`, open amounts included.
    pub fn loss_share(&self, boundary: Boundary) -> Option<f64> {
        (self.levels.arrived(boundary) - self.levels.crossed(boundary)).share_of(self.levels.offered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    #[test]
    fn unsettled_half_gives_value_coverage_and_bounds() {
        // 45 retained of 50 settled, 50 unsettled (design.md, Coverage).
        let ns = CapacityTime::from_device_ns;
        let window = Window::new(Timestamp::from_seconds(0), Timestamp::from_seconds(1)).unwrap();
        let levels = Levels { offered: ns(100), held: ns(100), retained: ns(45), ideal: ns(0) };
        let open = Open { runtime: ns(50), program: ns(45), ..Open::default() };
        let runtime = Chain::with_open(window, levels, open).factor(Boundary::Runtime);
        assert_eq!(runtime, Factor { settled: Some(0.90), coverage: 0.50, low: 0.45, high: 0.95 });
    }
}
