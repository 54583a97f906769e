//! What waiting jobs ask of a pool, kept as counts by the shape of their gangs.

use rustc_hash::FxHashMap;

/// The shape of a gang inside one pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub pool: u32,
    pub devices: u64,
    /// Zero when the record does not say.
    pub nodes: u32,
}

impl Shape {
    /// Devices on each node, rounded up; `None` when the record does not say how many nodes.
    fn per_node(self) -> Option<u64> {
        (self.nodes > 0).then(|| self.devices.div_ceil(u64::from(self.nodes)))
    }
}

/// What kept the gangs of a shape from starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// They need more devices than are free.
    TooBig,
    /// They would do by count and find no nodes of their shape.
    Misshapen,
    /// They fit.
    Fits,
    /// They would do by count; where free devices lie is unknown.
    Unknown,
}

impl Role {
    pub const COUNT: usize = 4;
    pub const ALL: [Self; Self::COUNT] = [Self::TooBig, Self::Misshapen, Self::Fits, Self::Unknown];
}

/// How many gangs of one shape wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub shape: Shape,
    /// Of the shape, kept because both are asked for at every event.
    pub devices: i64,
    pub per_node: Option<u64>,
    /// Eligible gangs.
    pub eligible: u64,
    /// Devices that the eligible gangs ask for.
    pub asked: i64,
    /// Sum of device-minutes that the eligible gangs ask for, to weigh fragmentation.
    pub requested: i64,
    /// What kept its gangs from starting at some time, for evidence.
    pub roles: [bool; Role::COUNT],
    /// Place in the pool's list of shapes with waiting gangs.
    place: u32,
}

/// Distinct shapes, numbered.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    pub waiting: Vec<Waiting>,
    index: FxHashMap<Shape, u32>,
}

impl Shapes {
    /// The number of `shape`.
    pub fn number(&mut self, shape: Shape) -> u32 {
        let waiting = &mut self.waiting;
        *self.index.entry(shape).or_insert_with(|| {
            waiting.push(Waiting {
                shape,
                devices: i64::try_from(shape.devices).unwrap_or(i64::MAX),
                per_node: shape.per_node(),
                eligible: 0,
                asked: 0,
                requested: 0,
                roles: [false; Role::COUNT],
                place: u32::MAX,
            });
            u32::try_from(waiting.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

/// Why a waiting gang waits, as far as records tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// May start whenever devices allow it.
    Eligible,
    /// Blocked by a quota or limit.
    Limited,
    /// Not eligible at the moment: no demand.
    NotEligible,
}

/// The waiting demand of one pool.
#[derive(Debug, Default)]
pub(super) struct Demand {
    /// Waiting gangs, eligible or limited.
    pub jobs: u64,
    /// Devices that they ask for.
    pub devices: i64,
    /// Of these, asked for by gangs that a quota or limit blocks.
    pub limited: i64,
    /// Of these, asked for without a shape (pool series).
    pub shapeless: i64,
    /// Numbers of the shapes with eligible gangs.
    pub active: Vec<u32>,
}

impl Demand {
    /// Devices of the largest eligible gang that waits.
    pub fn largest(&self, shapes: &Shapes) -> u64 {
        self.active.iter().map(|&number| shapes.waiting[number as usize].shape.devices).max().unwrap_or(0)
    }

    /// A gang of shape `number` that asks for `minutes` of run time begins or ceases to wait.
    pub fn change(
        &mut self,
        shapes: &mut Shapes,
        number: u32,
        standing: Standing,
        minutes: i64,
        begins: bool,
    ) {
        let waiting = &mut shapes.waiting[number as usize];
        let devices = waiting.devices;
        let sign = if begins { 1 } else { -1 };
        if standing == Standing::NotEligible {
            return;
        }
        self.devices += sign * devices;
        self.jobs = if begins { self.jobs + 1 } else { self.jobs.saturating_sub(1) };
        if standing == Standing::Limited {
            self.limited += sign * devices;
            return;
        }
        waiting.asked += sign * devices;
        waiting.requested += sign * devices.saturating_mul(minutes);
        if begins {
            if waiting.eligible == 0 {
                waiting.place = u32::try_from(self.active.len()).unwrap_or(u32::MAX);
                self.active.push(number);
            }
            waiting.eligible += 1;
        } else {
            waiting.eligible = waiting.eligible.saturating_sub(1);
            if waiting.eligible == 0 {
                let place = waiting.place as usize;
                self.active.swap_remove(place);
                if let Some(&moved) = self.active.get(place) {
                    shapes.waiting[moved as usize].place = u32::try_from(place).unwrap_or(u32::MAX);
                }
            }
        }
    }
}
