//! What a metric's name says that it is, and the step time that its history gives.

use super::catalogue::{Catalogue, spelled};

/// What a metric counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Unit {
    /// A time of a step, in so many seconds.
    Seconds(f64),
    /// Tokens a second of the whole job.
    Tokens,
    /// Tokens a second of one device.
    TokensOfADevice,
    /// Sequences a second of the whole job.
    Samples,
}

/// What a name says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Meaning {
    /// A step time or a throughput.
    Known(Unit),
    /// A step time whose unit is not stated.
    NoUnit,
}

impl Unit {
    pub fn named(name: &str) -> Option<Self> {
        match name.trim() {
            "s" => Some(Self::Seconds(1.0)),
            "ms" => Some(Self::Seconds(1e-3)),
            "us" | "µs" => Some(Self::Seconds(1e-6)),
            "tokens/s" => Some(Self::Tokens),
            "tokens/s/device" => Some(Self::TokensOfADevice),
            "samples/s" => Some(Self::Samples),
            _ => None,
        }
    }

    /// The column of RUNS.csv.
    pub const fn column(self) -> &'static str {
        match self {
            Self::Seconds(_) => "step_time_s",
            Self::Tokens => "tokens_per_s",
            Self::TokensOfADevice => "tokens_per_s_per_device",
            Self::Samples => "samples_per_s",
        }
    }
}

/// The meaning of a metric's name: none where it is neither a step time nor a throughput.
pub(super) fn meaning(name: &str) -> Option<Meaning> {
    let catalogue = Catalogue::built_in();
    if let Some(unit) = catalogue.units.get(name) {
        return Unit::named(unit).map(Meaning::Known);
    }
    let path = spelled(name).replace(' ', "_");
    if path.split(['/', '.']).any(|part| catalogue.passed_over.iter().any(|word| word == part)) {
        return None;
    }
    let last = path.rsplit(['/', '.']).next().unwrap_or_default();
    let (stem, seconds) = time_unit(last);
    if catalogue.step_time.iter().any(|known| known == stem) {
        return Some(seconds.map_or(Meaning::NoUnit, |seconds| Meaning::Known(Unit::Seconds(seconds))));
    }
    throughput(&path, catalogue).map(Meaning::Known)
}

/// A name without its unit, and the unit in seconds.
fn time_unit(name: &str) -> (&str, Option<f64>) {
    const UNITS: [(f64, &[&str]); 3] = [
        (1.0, &["_s", "_sec", "_secs", "_second", "_seconds", "(s)", "_s_", "(sec)", "(seconds)"]),
        (1e-3, &["_ms", "_msec", "_millis", "_milliseconds", "(ms)", "_ms_"]),
        (1e-6, &["_us", "_usec", "_microseconds", "(us)"]),
    ];
    for (seconds, endings) in UNITS {
        for ending in endings {
            if let Some(stem) = name.strip_suffix(ending) {
                return (stem.trim_end_matches('_').trim_end_matches("_in"), Some(seconds));
            }
        }
    }
    (name, None)
}

/// `tokens_per_s`, `perf/tokens/s`, `tokens_per_sec_per_gpu`, `throughput/device/tokens_per_sec`, `samples_per_second`.
fn throughput(path: &str, catalogue: &Catalogue) -> Option<Unit> {
    // torchtitan divides its tokens by the ranks that share a sample.
    if matches!(path, "throughput(tps)" | "throughput_tps_") {
        return Some(Unit::TokensOfADevice);
    }
    let path = per_slash(path);
    let before = ["_per_seconds", "_per_second", "_per_sec", "_per_s"];
    let of_a_device = ["_per_gpu", "_per_device", "_per_chip", "_per_rank", "_per_accelerator"];
    let ending = of_a_device.iter().find_map(|ending| path.strip_suffix(ending));
    let rate = ending.unwrap_or(&path);
    let what = before.iter().find_map(|ending| rate.strip_suffix(ending))?;
    let is_of_a_device = ending.is_some() || what.contains("_per_device");
    let last = what.rsplit(['/', '.']).next()?;
    if catalogue.tokens.iter().any(|known| known == last) {
        Some(if is_of_a_device { Unit::TokensOfADevice } else { Unit::Tokens })
    } else if last == "samples" && !is_of_a_device {
        Some(Unit::Samples)
    } else {
        None
    }
}

/// A slash before a unit divides: `tokens/s/gpu` is tokens_per_s_per_device. Other slashes are folders.
fn per_slash(path: &str) -> String {
    let mut joined = String::new();
    for part in path.split('/') {
        match part {
            "s" | "sec" | "second" => joined += "_per_s",
            "gpu" | "device" | "chip" => joined += "_per_device",
            other if joined.is_empty() => joined += other,
            other => joined = format!("{joined}/{other}"),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("perf/step_time_s", Meaning::Known(Unit::Seconds(1.0)))]
    #[case("train/step_time_ms", Meaning::Known(Unit::Seconds(1e-3)))]
    #[case("iteration-time", Meaning::Known(Unit::Seconds(1.0)))]
    #[case("elapsed time per iteration (ms)", Meaning::Known(Unit::Seconds(1e-3)))]
    #[case("train_step_timing in s", Meaning::Known(Unit::Seconds(1.0)))]
    #[case("time_metrics/end_to_end(s)", Meaning::Known(Unit::Seconds(1.0)))]
    #[case("step_time", Meaning::NoUnit)]
    #[case("tokens_per_s", Meaning::Known(Unit::Tokens))]
    #[case("throughput/tokens_per_sec", Meaning::Known(Unit::Tokens))]
    #[case("throughput/device/tokens_per_sec", Meaning::Known(Unit::TokensOfADevice))]
    #[case("perf/tokens/s/gpu", Meaning::Known(Unit::TokensOfADevice))]
    #[case("tokens_per_sec_per_gpu", Meaning::Known(Unit::TokensOfADevice))]
    #[case("throughput(tps)", Meaning::Known(Unit::TokensOfADevice))]
    #[case("train/samples_per_second", Meaning::Known(Unit::Samples))]
    fn names_that_mean_a_step(#[case] name: &str, #[case] expected: Meaning) {
        assert_eq!(meaning(name), Some(expected));
    }

    #[rstest::rstest]
    #[case("train/loss")]
    #[case("eval/step_time_s")]
    #[case("data_wait_s")]
    #[case("loss_per_s")]
    #[case("")]
    fn names_that_do_not(#[case] name: &str) {
        assert_eq!(meaning(name), None);
    }
}
