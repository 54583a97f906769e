//! Work that runs at one time and that a trace writes on one line: copy engines, asynchronous operations.

/// Work a device may have under way beside its queues. Copy engines and outstanding asynchronous operations are fewer.
const MOST: usize = 64;

/// Gives each piece a lane on which it overlaps nothing, so that it is not taken for one that never ended.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    /// Where the last piece of each lane ends.
    ends: Vec<i64>,
}

impl Lanes {
    /// The lane of the next piece, as a stream id: negative, since streams and queues count from zero.
    pub fn place(&mut self, start_ns: i64, end_ns: i64) -> i64 {
        let lane = match self.ends.iter().position(|&end| end <= start_ns) {
            Some(free) => free,
            None if self.ends.len() < MOST => {
                self.ends.push(end_ns);
                self.ends.len() - 1
            }
            None => (0..MOST).min_by_key(|&lane| self.ends[lane]).unwrap_or(0),
        };
        self.ends[lane] = self.ends[lane].max(end_ns);
        -(1..).nth(lane).unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_has_lanes_of_its_own() {
        let mut lanes = Lanes::default();
        let placed =
            [(0, 10), (5, 8), (8, 20), (10, 11), (9, 30), (2, 3)].map(|(start, end)| lanes.place(start, end));
        assert_eq!(placed, [-1, -2, -2, -1, -3, -4]);
        for start in 0..200 {
            assert!((-64..0).contains(&lanes.place(start, i64::MAX)));
        }
    }
}
