//! Where each attempt's devices lie: its pools, the shape it asks for, whether its nodes are known.

use rustc_hash::FxHashMap;

use crate::records::{Attempt, FleetRecords};
use crate::time::NS_PER_SECOND;

use super::demand::{Shape, Shapes};
use super::layout::Layout;
use super::notes::Notes;

const NOWHERE: u32 = u32::MAX;
/// The other bits are a position in `several`.
const SEVERAL: u32 = 1 << 31;

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
    number: Vec<u32>,
    several: Vec<Vec<u32>>,
    placed: Vec<bool>,
    waiting: Vec<bool>,
    /// Devices and nodes already assigned to incomplete gangs, by attempt and pool.
    assigned: FxHashMap<(u32, u32), (u64, u32)>,
}

impl Placement {
    /// For `attempts` attempts, none of them placed yet.
    pub fn new(attempts: usize) -> Self {
        Self {
            number: vec![NOWHERE; attempts],
            placed: vec![false; attempts],
            waiting: vec![false; attempts],
            ..Self::default()
        }
    }

    /// Places one attempt.
    pub fn place(&mut self, records: &FleetRecords, layout: &Layout, row: usize, notes: &mut Notes) {
        let attempt = &records.attempts[row];
        let names = records.node_set(attempt.nodes);
        let shares = layout.shares(records, attempt, notes);
        let shares = shares.as_slice();
        let mut numbers = shares.iter().map(|share| {
            // A record without a count of nodes may still list them.
            let nodes = if share.nodes == 0 && shares.len() == 1 {
                names.len() as u64
            } else {
                u64::from(share.nodes)
            };
            let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
            self.shapes.number(Shape { pool: share.pool, devices: share.devices, nodes })
        });
        if let ([_], Some(number)) = (shares, numbers.next()) {
            self.number[row] = number;
        } else {
            let several = shares
                .iter()
                .map(|s| self.shapes.number(Shape { pool: s.pool, devices: s.devices, nodes: s.nodes }))
                .collect();
            self.number[row] = SEVERAL | u32::try_from(self.several.len()).unwrap_or(0);
            self.several.push(several);
        }
        self.placed[row] = self.nodes_known(layout, attempt, names, notes);
    }

    fn nodes_known(
        &self,
        layout: &Layout,
        attempt: &Attempt,
        names: &[crate::records::Symbol],
        notes: &mut Notes,
    ) -> bool {
        if names.is_empty() || attempt.start.is_none() {
            return false;
        }
        if names.iter().any(|name| layout.node(*name).is_none()) {
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
        self.number[row] != NOWHERE
    }

    /// Whether it is known which devices of which nodes the attempt holds.
    pub fn is_placed(&self, row: usize) -> bool {
        self.placed[row]
    }

    /// Whether the attempt waits now.
    pub fn is_waiting(&self, row: usize) -> bool {
        self.waiting[row]
    }

    /// Notes that the attempt begins or ceases to wait.
    pub fn set_waiting(&mut self, row: usize, waits: bool) {
        self.waiting[row] = waits;
    }

    /// In how many pools the attempt lies.
    pub fn parts(&self, row: usize) -> usize {
        match self.number[row] {
            NOWHERE => 0,
            number if number & SEVERAL != 0 => self.several[(number & !SEVERAL) as usize].len(),
            _ => 1,
        }
    }

    /// The number of the shape of one part.
    pub fn part(&self, row: usize, part: usize) -> u32 {
        match self.number[row] {
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

    /// Device-seconds that the attempt asks for; devices alone when it names no limit.
    pub fn requested(attempt: &Attempt) -> i128 {
        let seconds = attempt.time_limit_ns.map_or(1, |ns| (ns / NS_PER_SECOND).max(1));
        i128::from(attempt.devices) * i128::from(seconds)
    }
}

fn key(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX)
}
