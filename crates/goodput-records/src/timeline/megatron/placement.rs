//! Where intervals lie when a log prints an end stamp and a duration.
//!
//! A stamp of whole seconds says only that the instant lies in `[T, T + 1 s)`. Within that, instants are
//! placed so that printed durations follow each other without gap or overlap; where the stamps do not
//! allow it, the stamps are right, and the difference is reported.

use goodput_core::Timestamp;

use crate::timeline::clock::Stamp;

/// Where a duration that ends at a stamp lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    pub start: Timestamp,
    pub end: Timestamp,
    /// Stamps minus printed durations, beyond what resolution and rounding explain: above zero, time
    /// that nothing printed accounts for; below zero, more printed than there was.
    pub disagreement_ns: i64,
}

/// Places `took_ns` so that it ends within `stamp`, after `since`. The printed duration may be off by
/// `rounding_ns`.
pub(super) fn place(since: Option<Timestamp>, stamp: Stamp, took_ns: i64, rounding_ns: i64) -> Placed {
    let Some(since) = since else {
        return Placed { start: stamp.at - took_ns, end: stamp.at, disagreement_ns: 0 };
    };
    if since >= stamp.at + stamp.resolution_ns {
        // The clock was set back: the stamp stands, and so does the duration.
        return Placed { start: stamp.at - took_ns, end: stamp.at, disagreement_ns: 0 };
    }
    let wanted = since + took_ns;
    let missing_ns = stamp.at - wanted;
    let excess_ns = wanted - (stamp.at + stamp.resolution_ns);
    if missing_ns > 0 {
        let start = if missing_ns <= rounding_ns { since } else { stamp.at - took_ns };
        let unexplained_ns = if missing_ns > stamp.resolution_ns + rounding_ns { missing_ns } else { 0 };
        Placed { start, end: stamp.at, disagreement_ns: unexplained_ns }
    } else if excess_ns < 0 {
        Placed { start: since, end: wanted, disagreement_ns: 0 }
    } else {
        let disagreement_ns = if excess_ns > rounding_ns { -excess_ns } else { 0 };
        Placed { start: since, end: stamp.at.max(since), disagreement_ns }
    }
}

/// The instant of a stamped line, not before `since` where the resolution allows that.
pub(super) fn instant(since: Option<Timestamp>, stamp: Stamp) -> Timestamp {
    match since {
        Some(since) if since >= stamp.at && since < stamp.at + stamp.resolution_ns => since,
        _ => stamp.at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000_000;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    fn placed(since_ms: i64, stamp_s: i64, took_ms: i64) -> (i64, i64, i64) {
        let stamp = Stamp { at: Timestamp::from_seconds(stamp_s), resolution_ns: SECOND };
        let placed = place(Some(at(since_ms)), stamp, took_ms * 1_000_000, 0);
        let ms = |ns: i64| ns / 1_000_000;
        (ms(placed.start.as_nanos()), ms(placed.end.as_nanos()), ms(placed.disagreement_ns))
    }

    #[test]
    fn printed_durations_follow_each_other_inside_the_resolution() {
        assert_eq!(placed(12_000, 20, 8_207), (12_000, 20_207, 0));
        assert_eq!(placed(20_207, 28, 8_218), (20_207, 28_425, 0));
    }

    #[test]
    fn stamps_win_over_printed_durations() {
        assert_eq!(placed(12_000, 20, 7_500), (12_500, 20_000, 0), "less than the resolution is no finding");
        assert_eq!(placed(12_000, 20, 5_000), (15_000, 20_000, 3_000));
        assert_eq!(placed(12_000, 20, 10_000), (12_000, 20_000, -1_000));
        assert_eq!(placed(12_000, 5, 2_000), (3_000, 5_000, 0), "a clock that was set back");
    }

    proptest! {
        #[test]
        fn what_is_placed_ends_within_its_stamp(since in 0i64..100_000, stamp_s in 0i64..100, took in 0i64..50_000) {
            let (start, end, disagreement) = placed(since, stamp_s, took);
            prop_assert!(end >= stamp_s * 1000 && end < stamp_s * 1000 + 1000);
            prop_assert!(start <= end);
            prop_assert!(end - start == took || disagreement <= 0);
        }
    }
}
