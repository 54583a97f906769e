//! Transfers that share links, and what collectives take from computation.

/// Part of each shared thing that a transfer uses while it runs alone, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Demand {
    /// Of the device's links inside the node.
    pub links: f64,
    /// Of the node's adapters.
    pub adapters: f64,
}

/// One transfer beside others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// When it begins, ns.
    pub start_ns: f64,
    /// How long it takes alone, ns.
    pub alone_ns: f64,
    /// What it uses.
    pub demand: Demand,
}

/// When each transfer ends, ns, when those that run at one time slow each other in proportion: nothing changes as long as
/// they fit, and where they ask for more than there is each gets its part of it.
#[must_use]
pub fn finish_times(transfers: &[Transfer]) -> Vec<f64> {
    let mut left: Vec<f64> = transfers.iter().map(|transfer| transfer.alone_ns.max(0.0)).collect();
    let mut ends: Vec<f64> = transfers.iter().map(|transfer| transfer.start_ns).collect();
    let mut now = transfers.iter().map(|transfer| transfer.start_ns).fold(f64::INFINITY, f64::min);
    loop {
        let running: Vec<usize> =
            (0..transfers.len()).filter(|&i| left[i] > 0.0 && transfers[i].start_ns <= now).collect();
        let starts = transfers.iter().map(|transfer| transfer.start_ns).filter(|start| *start > now);
        let next_start = starts.fold(f64::INFINITY, f64::min);
        if running.is_empty() {
            if next_start.is_infinite() {
                return ends;
            }
            now = next_start;
            continue;
        }
        let total =
            |part: fn(&Demand) -> f64| running.iter().map(|&i| part(&transfers[i].demand)).sum::<f64>();
        let (links, adapters) =
            (total(|demand| demand.links).max(1.0), total(|demand| demand.adapters).max(1.0));
        let slowdown = |demand: &Demand| {
            let of = |used: f64, crowd: f64| if used > 0.0 { crowd } else { 1.0 };
            of(demand.links, links).max(of(demand.adapters, adapters))
        };
        let first_end =
            running.iter().map(|&i| left[i] * slowdown(&transfers[i].demand)).fold(f64::INFINITY, f64::min);
        let step = first_end.min(next_start - now);
        for &i in &running {
            let slow = slowdown(&transfers[i].demand);
            // The one that sets the step ends exactly.
            left[i] = if left[i] * slow <= step { 0.0 } else { left[i] - step / slow };
            ends[i] = now + step;
        }
        now += step;
    }
}

/// Part of a device's multiprocessors that computation keeps beside collectives that hold `taken`. A kernel of whole
/// waves is slowed by more: count its waves with the multiprocessors that are left.
#[must_use]
pub fn compute_share(multiprocessors: u32, taken: u32) -> f64 {
    if multiprocessors == 0 {
        return 0.0;
    }
    f64::from(multiprocessors.saturating_sub(taken)) / f64::from(multiprocessors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(start_ns: f64, alone_ns: f64, links: f64, adapters: f64) -> Transfer {
        Transfer { start_ns, alone_ns, demand: Demand { links, adapters } }
    }

    #[test]
    fn transfers_that_fit_do_not_slow_each_other() {
        let ends = finish_times(&[transfer(0.0, 10.0, 1.0, 0.0), transfer(0.0, 30.0, 0.0, 1.0)]);
        assert_eq!(ends, [10.0, 30.0]);
    }

    #[test]
    fn two_full_transfers_share_until_the_first_ends() {
        // 10 and 30 at half speed: the first ends at 20, the second has done 10 and needs 20 more.
        let ends = finish_times(&[transfer(0.0, 10.0, 0.0, 1.0), transfer(0.0, 30.0, 0.0, 1.0)]);
        assert_eq!(ends, [20.0, 40.0]);
    }

    #[test]
    fn a_later_start_and_an_idle_gap_are_kept() {
        let ends = finish_times(&[
            transfer(0.0, 10.0, 1.0, 0.0),
            transfer(5.0, 5.0, 1.0, 0.0),
            transfer(100.0, 1.0, 1.0, 0.0),
        ]);
        assert_eq!(ends, [15.0, 15.0, 101.0]);
        assert!(finish_times(&[]).is_empty());
    }

    #[test]
    fn a_collective_of_24_leaves_108_of_132() {
        assert_eq!(compute_share(132, 24), 108.0 / 132.0);
        assert_eq!(compute_share(0, 1), 0.0);
    }
}
