//! Why one factor dips when a change works: factors share boundaries, so time that a lever shortens on one side changes what
//! the other side divides by. The three directions are those of fleet measurements (Wongpanich et al., 2025).

/// What a side did, per retained step and in whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Productive time of a retained step.
    pub productive: f64,
    /// Held time lost at the runtime boundary, per retained step.
    pub lost: f64,
    /// Of it, waiting for input.
    pub input_wait: f64,
}

/// Ratios of the factors, after over before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// Scheduling goodput, where there is a pool.
    pub scheduling: Option<f64>,
    /// Runtime goodput.
    pub runtime: f64,
    /// Program goodput.
    pub program: f64,
}

/// A known coupling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coupling {
    /// A faster step on the devices: the fixed losses are spread over less productive time.
    DeviceBound,
    /// A faster step on the devices that waits for its input as much longer: nothing is gained.
    HostBound,
    /// Less time lost at the runtime boundary: jobs finish sooner, and the pool has more to give away.
    RuntimeLever,
    /// More held of what was offered; the inside of jobs is as before.
    SchedulingLever,
}

impl Coupling {
    /// The word for programs.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::DeviceBound => "device_bound_step",
            Self::HostBound => "host_bound_step",
            Self::RuntimeLever => "runtime_lever",
            Self::SchedulingLever => "scheduling_lever",
        }
    }
}

/// A factor moved when it changed by more than this.
const MOVED: f64 = 0.005;
/// A fixed loss stayed when it changed by less than this share of itself.
const STAYED: f64 = 0.10;

/// Recognises a coupling from the numbers, and says it.
#[must_use]
pub fn recognise(moved: Moved, paces: Option<(Pace, Pace)>) -> Option<(Coupling, String)> {
    let rose = |ratio: f64| ratio > 1.0 + MOVED;
    let fell = |ratio: f64| ratio < 1.0 - MOVED;
    let still = |ratio: f64| !rose(ratio) && !fell(ratio);
    if rose(moved.program) && fell(moved.runtime) {
        let (before, after) = paces?;
        return of_a_faster_step(moved, before, after);
    }
    if rose(moved.runtime) && still(moved.program) && moved.scheduling.is_none_or(|s| !rose(s)) {
        let dip = match moved.scheduling.filter(|&s| fell(s)) {
            Some(s) => format!(
                " Scheduling goodput falls to {s:.3} of its value: jobs release their devices sooner and less of the pool is held; \
                 that is no regression by itself."
            ),
            None => String::new(),
        };
        return Some((
            Coupling::RuntimeLever,
            format!("Less held time is lost around the steps, and the steps are as they were.{dip}"),
        ));
    }
    if moved.scheduling.is_some_and(rose) && still(moved.runtime) && still(moved.program) {
        return Some((
            Coupling::SchedulingLever,
            "More of the offered time is held, and what jobs make of it is as it was: only scheduling goodput moves."
                .to_owned(),
        ));
    }
    None
}

fn of_a_faster_step(moved: Moved, before: Pace, after: Pace) -> Option<(Coupling, String)> {
    let shrank = after.productive < before.productive * (1.0 - MOVED);
    let step = |pace: Pace| pace.productive + pace.input_wait;
    let saved = before.productive - after.productive;
    if shrank && after.input_wait - before.input_wait > (1.0 - STAYED) * saved {
        return Some((
            Coupling::HostBound,
            format!(
                "The step's work on the devices is shorter ({}), and it waits for its input as much longer ({}): it takes {} instead of {}. \
                 The gain of program goodput and the loss of runtime goodput cancel; the input pipeline is what to speed up.",
                change(before.productive, after.productive),
                change(before.input_wait, after.input_wait),
                seconds(step(after)),
                seconds(step(before)),
            ),
        ));
    }
    let stayed = (after.lost - before.lost).abs() <= STAYED * before.lost;
    if !(shrank && stayed) {
        return None;
    }
    // What runtime goodput becomes when only the productive time of a step shrinks.
    let mechanical = after.productive
        / (after.productive + before.lost)
        / (before.productive / (before.productive + before.lost));
    Some((
        Coupling::DeviceBound,
        format!(
            "Runtime goodput dips to {:.3} of its value because the step is faster, not because more is lost: around each retained \
             step {} of held time is lost as before ({}), while its productive time shrank ({}). The same losses over the \
             shorter step make {mechanical:.3}. A dip of this kind is no regression; the product decides.",
            moved.runtime,
            seconds(after.lost),
            seconds(before.lost),
            change(before.productive, after.productive),
        ),
    ))
}

fn seconds(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        ns_abs if ns_abs >= 1e9 => (ns / 1e9, "s"),
        ns_abs if ns_abs >= 1e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e3, "µs"),
    };
    format!("{value:.3} {unit}")
}

fn change(before: f64, after: f64) -> String {
    format!("{} to {}", seconds(before), seconds(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(productive: f64, lost: f64, input_wait: f64) -> Pace {
        Pace { productive: productive * 1e9, lost: lost * 1e9, input_wait: input_wait * 1e9 }
    }

    /// A compiler shortens the step by a tenth: startup, checkpoints and recovery stay.
    #[test]
    fn a_faster_step_lowers_runtime_goodput() {
        let (before, after) = (pace(1.0, 0.1, 0.0), pace(0.9, 0.1, 0.0));
        let runtime = (0.9 / 1.0) / (1.0 / 1.1);
        let moved = Moved { scheduling: None, runtime, program: 1.0 / 0.9 };
        let (coupling, why) = recognise(moved, Some((before, after))).unwrap();
        assert_eq!(coupling, Coupling::DeviceBound);
        assert!(why.contains("no regression"), "{why}");
    }

    #[test]
    fn a_faster_step_that_waits_for_input_gains_nothing() {
        let (before, after) = (pace(1.0, 0.2, 0.1), pace(0.8, 0.4, 0.3));
        let moved = Moved { scheduling: None, runtime: (0.8 / 1.2) / (1.0 / 1.2), program: 1.25 };
        let (coupling, _) = recognise(moved, Some((before, after))).unwrap();
        assert_eq!(coupling, Coupling::HostBound);
        assert!((moved.runtime * moved.program - 1.0).abs() < 1e-12);
    }

    #[test]
    fn more_losses_are_no_coupling() {
        let moved = Moved { scheduling: None, runtime: 0.8, program: 1.1 };
        assert_eq!(recognise(moved, Some((pace(1.0, 0.1, 0.0), pace(0.9, 0.4, 0.0)))), None);
        assert_eq!(recognise(moved, None), None);
    }

    #[test]
    fn the_other_rows_of_the_table() {
        let runtime = Moved { scheduling: Some(0.98), runtime: 1.05, program: 1.0 };
        assert_eq!(recognise(runtime, None).unwrap().0, Coupling::RuntimeLever);
        let scheduling = Moved { scheduling: Some(1.05), runtime: 1.0, program: 1.0 };
        assert_eq!(recognise(scheduling, None).unwrap().0, Coupling::SchedulingLever);
        let still = Moved { scheduling: Some(1.0), runtime: 1.0, program: 1.0 };
        assert_eq!(recognise(still, None), None);
    }
}
