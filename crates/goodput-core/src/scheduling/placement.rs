//! Where each attempt's devices lie: its pools, the shape it asks for, whether its nodes are known.

use rustc_hash::FxHashMap;

use crate::records::{Attempt, FleetRecords, NodeSet, Symbol, WaitReason};
use crate::time::NS_PER_SECOND;

use super::demand::{Shape, Shapes, Standing};
use super::layout::{Layout, Share};
use super::notes::Notes;

const NOWHERE: u32 = u32::MAX;
/// The other bits are a position in `several`.
const SEVERAL: u32 = 1 << 31;

/// What the sweep needs to know of an attempt, small because it visits attempts in the order of time, not of records.
#[derive(Debug, Clone, Copy)]
struct Row {
    number: u32,
    nodes: NodeSet,
    minutes: u16,
    standing: Standing,
    placed: bool,
    waiting: bool,
}

/// A member of an incomplete gang.
#[derive(Debug, Clone, Copy)]
pub(super) struct Partial {
    pub row: usize,
    pub pool: u32,
    pub node: Option<u32>,
    pub devices: u64,
    /// Whether records tell the amount; otherwise the whole gang claims what is free.
    pub exact: bool,
}

/// Where attempts lie.
#[derive(Debug, Default)]
pub(super) struct Placement {
    pub shapes: Shapes,
    rows: Vec<Row>,
    several: Vec<Vec<u32>>,
    /// Devices and nodes already assigned to incomplete gangs, by attempt and pool.
    assigned: FxHashMap<(u32, u32), (u64, u32)>,
}

impl Placement {
    /// For `attempts` attempts, none of them placed yet.
    pub fn new(attempts: usize) -> Self {
        let row = Row {
            number: NOWHERE,
            nodes: NodeSet::NONE,
            minutes: 1,
            standing: Standing::Eligible,
            placed: false,
            waiting: false,
        };
        Self { rows: vec![row; attempts], ..Self::default() }
    }

    /// Places one attempt.
    pub fn place(&mut self, records: &FleetRecords, layout: &Layout, row: usize, notes: &mut Notes) {
        let attempt = &records.attempts[row];
        let names = records.node_set(attempt.nodes);
        let shares = layout.shares(records, attempt, notes);
        let shares = shares.as_slice();
        let number = if let [share] = shares {
            // A record without a count of nodes may still list them.
            let listed = u32::try_from(names.len()).unwrap_or(u32::MAX);
            let nodes = if share.nodes == 0 { listed } else { share.nodes };
            self.shapes.number(Shape { pool: share.pool, devices: share.devices, nodes })
        } else {
            let number =
                |s: &Share| self.shapes.number(Shape { pool: s.pool, devices: s.devices, nodes: s.nodes });
            self.several.push(shares.iter().map(number).collect());
            SEVERAL | u32::try_from(self.several.len() - 1).unwrap_or(0)
        };
        let minutes =
            attempt.time_limit_ns.map_or(1, |ns| ns / (60 * NS_PER_SECOND)).clamp(1, i64::from(u16::MAX));
        self.rows[row] = Row {
            number,
            nodes: attempt.nodes,
            minutes: u16::try_from(minutes).unwrap_or(1),
            standing: match attempt.wait_reason {
                WaitReason::Limit => Standing::Limited,
                // The reason is the last one: an attempt that started was eligible before.
                WaitReason::NotEligible if attempt.start.is_none() => Standing::NotEligible,
                _ => Standing::Eligible,
            },
            placed: self.nodes_known(layout, attempt, names, notes),
            waiting: false,
        };
    }

    fn nodes_known(&self, layout: &Layout, attempt: &Attempt, names: &[Symbol], notes: &mut Notes) -> bool {
        if names.is_empty() || attempt.start.is_none() {
            return false;
        }
        if !layout.knows_all(attempt.nodes) {
            if !layout.nodes.is_empty() {
                notes.note("unknown_node", attempt.source);
            }
            return false;
        }
        let even = attempt.devices.is_multiple_of(names.len() as u64);
        if !even {
            notes.note("uneven_devices", attempt.source);
        }
        even
    }

    /// Whether the attempt lies anywhere.
    pub fn is_known(&self, row: usize) -> bool {
        self.rows[row].number != NOWHERE
    }

    /// Whether it is known which devices of which nodes the attempt holds.
    pub fn is_placed(&self, row: usize) -> bool {
        self.rows[row].placed
    }

    /// Whether the attempt waits now.
    pub fn is_waiting(&self, row: usize) -> bool {
        self.rows[row].waiting
    }

    /// Notes that the attempt begins or ceases to wait.
    pub fn set_waiting(&mut self, row: usize, waits: bool) {
        self.rows[row].waiting = waits;
    }

    /// In how many pools the attempt lies.
    pub fn parts(&self, row: usize) -> usize {
        match self.rows[row].number {
            NOWHERE => 0,
            number if number & SEVERAL != 0 => self.several[(number & !SEVERAL) as usize].len(),
            _ => 1,
        }
    }

    /// The number of the shape of one part.
    pub fn part(&self, row: usize, part: usize) -> u32 {
        match self.rows[row].number {
            number if number & SEVERAL != 0 => self.several[(number & !SEVERAL) as usize][part],
            number => number,
        }
    }

    /// The shape of one part.
    pub fn shape(&self, row: usize, part: usize) -> Shape {
        self.shapes.waiting[self.part(row, part) as usize].shape
    }

    /// The number of the shape that one part still asks for; `None` when all of it is assigned.
    pub fn asked(&mut self, row: usize, part: usize) -> Option<u32> {
        let number = self.part(row, part);
        if self.assigned.is_empty() {
            return Some(number);
        }
        let shape = self.shapes.waiting[number as usize].shape;
        let Some(&(devices, nodes)) = self.assigned.get(&(key(row), shape.pool)) else { return Some(number) };
        let left = shape.devices.saturating_sub(devices);
        let nodes = shape.nodes.saturating_sub(nodes);
        (left > 0).then(|| self.shapes.number(Shape { devices: left, nodes, ..shape }))
    }

    /// A member is assigned to its gang or given back.
    pub fn assign(&mut self, partial: &Partial, begins: bool) {
        let (devices, nodes) = self.assigned.entry((key(partial.row), partial.pool)).or_default();
        let members = u32::from(partial.node.is_some());
        if begins {
            *devices += partial.devices;
            *nodes += members;
        } else {
            *devices = devices.saturating_sub(partial.devices);
            *nodes = nodes.saturating_sub(members);
        }
    }

    /// The requested run time in minutes, one when the attempt names no limit.
    pub fn minutes(&self, row: usize) -> i64 {
        i64::from(self.rows[row].minutes)
    }

    /// The node list of the attempt.
    pub fn nodes(&self, row: usize) -> NodeSet {
        self.rows[row].nodes
    }

    /// How the attempt stands in the queue by its own record.
    pub fn standing(&self, row: usize) -> Standing {
        self.rows[row].standing
    }
}

fn key(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX)
}
