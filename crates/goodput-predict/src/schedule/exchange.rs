//! Gradient buckets and parameter gathers on their own streams.

use super::Bucket;
use super::cost::round;

/// How long a part's first forward waits for its parameters, when it could start at `ready`. Gathers run one after the other from the
/// start of the step; the forward goes on between two of them as far as it can.
pub(super) fn wait_for_parameters(gathers: &[Bucket], part: usize, ready: f64, duration: f64) -> f64 {
    let (mut gathered, mut now, mut done) = (0.0, ready, 0.0);
    for bucket in gathers {
        gathered += round(bucket.ns);
        if bucket.part == part {
            let needed = round(bucket.share.clamp(0.0, 1.0) * duration).max(done);
            now = (now + needed - done).max(gathered);
            done = needed;
        }
    }
    now - done - ready
}

/// When the last bucket is reduced. `last` gives end and duration of a part's last backward. Buckets run in the order in which they
/// become ready.
pub(super) fn reduced(
    buckets: &[Bucket],
    last: impl Fn(usize) -> (f64, f64),
    ready: &mut Vec<(f64, f64)>,
) -> f64 {
    ready.clear();
    ready.extend(buckets.iter().map(|bucket| {
        let (end, duration) = last(bucket.part);
        (end - round((1.0 - bucket.share.clamp(0.0, 1.0)) * duration), round(bucket.ns))
    }));
    ready.sort_by(|one, other| one.0.total_cmp(&other.0));
    ready.iter().fold(0.0, |stream, &(ready, ns)| ready.max(stream) + ns)
}
