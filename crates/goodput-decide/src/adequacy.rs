//! Whether a window is long enough for each factor. Each factor loses time on its own scale: program goodput in every step,
//! runtime goodput in interruptions, scheduling goodput over cycles of demand.

use goodput_core::Boundary;

/// Steady steps from which program goodput is well estimated: several hundred.
pub const STEADY_STEPS: u64 = 300;
/// Interruptions from which runtime goodput is well estimated: several cycles.
pub const INTERRUPTIONS: u64 = 5;
/// Longest part of a day left over, as a share of the window, for it to count as whole demand cycles.
const LEFT_OVER: f64 = 0.05;

const HOUR_NS: f64 = 3.6e12;
const DAY_NS: f64 = 24.0 * HOUR_NS;

/// What of a window is known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evidence {
    /// Retained steady steps; `None` where no log tells.
    pub steady_steps: Option<u64>,
    /// Failures and preemptions; `None` where no log tells.
    pub interruptions: Option<u64>,
    /// Of these, failures.
    pub failures: u64,
    /// Wall time held by the jobs with a log, ns.
    pub held_ns: f64,
    /// Mean time between failures that somebody states, hours.
    pub mtbf_hours: Option<f64>,
    /// Length of the window, ns; `None` where there is no pool.
    pub pool_window_ns: Option<f64>,
}

/// The judgement of one factor's window.
#[derive(Debug, Clone, PartialEq)]
pub struct Adequacy {
    /// The factor.
    pub boundary: Boundary,
    /// Whether the window is long enough.
    pub adequate: bool,
    /// What is counted: steady steps, interruptions, days.
    pub unit: &'static str,
    /// How many the window holds; `None` where no record tells.
    pub seen: Option<f64>,
    /// How many are needed.
    pub needed: f64,
    /// Probability that a window as short as this sees no failure: exp(-held / MTBF), failures taken as a Poisson process.
    pub no_failure: Option<f64>,
    /// The judgement in a sentence.
    pub sentence: String,
}

/// Judges each factor that the records have.
#[must_use]
pub fn judge(evidence: &Evidence) -> Vec<Adequacy> {
    let mut judged = Vec::new();
    judged.extend(evidence.pool_window_ns.map(|ns| demand(Boundary::Scheduling, ns)));
    judged.push(runtime(evidence));
    judged.push(program(evidence.steady_steps));
    judged
}

/// What of a serving fleet's window is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServingEvidence {
    /// Lives of replicas in the window, placement to release.
    pub lives: u64,
    /// Length of the window, ns.
    pub window_ns: i64,
    /// Whether a pool was sampled.
    pub pool: bool,
}

/// Judges the factors of a serving fleet. Headroom is inside its program goodput, which therefore follows the demand.
///
/// ```
/// use goodput_decide::adequacy::{ServingEvidence, judge_serving};
/// let judged = judge_serving(&ServingEvidence { lives: 40, window_ns: 7 * 86_400_000_000_000, pool: true });
/// assert!(judged.len() == 3 && judged.iter().all(|factor| factor.adequate));
/// ```
#[must_use]
pub fn judge_serving(evidence: &ServingEvidence) -> Vec<Adequacy> {
    let &ServingEvidence { lives, window_ns, pool } = evidence;
    let adequate = lives >= INTERRUPTIONS;
    let life = if lives == 1 { "life" } else { "lives" };
    let few = if adequate { String::new() } else { format!(": several ({INTERRUPTIONS}) are needed") };
    let runtime = Adequacy {
        boundary: Boundary::Runtime,
        adequate,
        unit: "lives",
        seen: Some(lives as f64),
        needed: INTERRUPTIONS as f64,
        no_failure: None,
        sentence: format!("runtime goodput spans {lives} {life} of replicas{few}"),
    };
    let mut judged = Vec::new();
    judged.extend(pool.then(|| demand(Boundary::Scheduling, window_ns as f64)));
    judged.extend([runtime, demand(Boundary::Program, window_ns as f64)]);
    judged
}

/// Judges the steady steps of a step trace; `None` where it does not tell steps apart. A step counts once, however many
/// ranks are traced.
///
/// ```
/// use goodput_decide::adequacy::judge_trace;
/// let few = judge_trace(Some(3));
/// assert!(!few.adequate && few.sentence.starts_with("the trace is a sample"));
/// assert!(judge_trace(Some(400)).adequate);
/// ```
#[must_use]
pub fn judge_trace(steady_steps: Option<u64>) -> Adequacy {
    let judged = program(steady_steps);
    let sentence = match steady_steps {
        Some(_) if judged.adequate => judged.sentence,
        Some(_) => format!("the trace is a sample: {}", judged.sentence),
        None => "the trace is a sample: it does not tell how many steady steps program goodput rests on"
            .to_owned(),
    };
    Adequacy { sentence, ..judged }
}

fn program(steps: Option<u64>) -> Adequacy {
    let adequate = steps.is_some_and(|steps| steps >= STEADY_STEPS);
    let sentence = match steps {
        Some(steps) if adequate => format!("program goodput rests on {steps} steady steps"),
        Some(steps) => format!(
            "program goodput rests on {steps} steady {}: several hundred ({STEADY_STEPS}) are needed for a steady figure",
            if steps == 1 { "step" } else { "steps" }
        ),
        None => "program goodput: no timeline tells how many steady steps it rests on".to_owned(),
    };
    Adequacy {
        boundary: Boundary::Program,
        adequate,
        unit: "steady steps",
        seen: steps.map(|steps| steps as f64),
        needed: STEADY_STEPS as f64,
        no_failure: None,
        sentence,
    }
}

fn runtime(evidence: &Evidence) -> Adequacy {
    let seen = evidence.interruptions;
    let hours = evidence.held_ns / HOUR_NS;
    let logged = (evidence.failures > 0).then(|| hours / evidence.failures as f64);
    let mtbf =
        evidence.mtbf_hours.map(|hours| (hours, "stated")).or(logged.map(|hours| (hours, "from the log")));
    let no_failure = mtbf.filter(|&(mtbf, _)| mtbf > 0.0).map(|(mtbf, _)| (-hours / mtbf).exp());
    let adequate = seen.is_some_and(|seen| seen >= INTERRUPTIONS);
    let mut sentence = match seen {
        Some(seen) if adequate => format!("runtime goodput spans {}", interruptions(seen)),
        Some(seen) => format!(
            "runtime goodput spans {} in {hours:.1} held hours: several cycles ({INTERRUPTIONS}) are needed",
            interruptions(seen)
        ),
        None => "runtime goodput: no timeline tells how many interruptions the window holds".to_owned(),
    };
    match (mtbf, no_failure) {
        (Some((mtbf, from)), Some(none)) => sentence.push_str(&format!(
            "; at an MTBF of {mtbf:.1} h ({from}) a window this short sees no failure with probability {}",
            rounded(none)
        )),
        _ if seen.is_some() => {
            sentence.push_str("; no failure was logged: state statistics.mtbf_hours in the contract");
        }
        _ => {}
    }
    Adequacy {
        boundary: Boundary::Runtime,
        adequate,
        unit: "interruptions",
        seen: seen.map(|seen| seen as f64),
        needed: INTERRUPTIONS as f64,
        no_failure,
        sentence,
    }
}

/// A probability in two decimals, and never as a certainty.
fn rounded(probability: f64) -> String {
    match probability {
        p if p < 0.005 => "below 0.01".to_owned(),
        p if p >= 0.995 => "above 0.99".to_owned(),
        p => format!("{p:.2}"),
    }
}

fn interruptions(count: u64) -> String {
    match count {
        0 => "no interruption".to_owned(),
        1 => "1 interruption".to_owned(),
        count => format!("{count} interruptions"),
    }
}

/// A factor that follows the demand: its window holds whole cycles of it, of which a day is the shortest.
pub(crate) fn demand(boundary: Boundary, window_ns: f64) -> Adequacy {
    let days = window_ns / DAY_NS;
    let whole = days.round().max(1.0);
    let adequate = days >= 1.0 - LEFT_OVER && (days - whole).abs() <= LEFT_OVER * days;
    let weeks = days / 7.0;
    let sentence = if !adequate {
        format!(
            "{boundary} goodput spans {days:.2} days, no whole demand cycles: choose a multiple of 24 h, better of 7 d"
        )
    } else if days < 7.0 * (1.0 - LEFT_OVER) {
        format!("{boundary} goodput spans {days:.1} days: whole daily cycles, no whole week")
    } else {
        format!("{boundary} goodput spans {days:.1} days ({weeks:.1} weeks)")
    };
    Adequacy { boundary, adequate, unit: "days", seen: Some(days), needed: 1.0, no_failure: None, sentence }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_probability_is_printed_as_a_certainty() {
        let said = |held_hours: f64| {
            let evidence = Evidence {
                steady_steps: None,
                interruptions: Some(9),
                held_ns: held_hours * HOUR_NS,
                mtbf_hours: Some(302.0),
                pool_window_ns: None,
                failures: 9,
            };
            judge(&evidence).into_iter().find(|factor| factor.boundary == Boundary::Runtime).unwrap().sentence
        };
        assert!(said(24.0).ends_with("probability 0.92"), "{}", said(24.0));
        assert!(said(0.1).ends_with("probability above 0.99"), "{}", said(0.1));
        assert!(said(5000.0).ends_with("probability below 0.01"), "{}", said(5000.0));
    }

    #[test]
    fn each_factor_has_its_own_scale() {
        let day = Evidence {
            steady_steps: Some(5000),
            interruptions: Some(0),
            held_ns: DAY_NS,
            mtbf_hours: Some(302.0),
            pool_window_ns: Some(DAY_NS),
            failures: 0,
        };
        let [scheduling, runtime, program] = judge(&day).try_into().unwrap();
        assert!(program.adequate && scheduling.adequate && !runtime.adequate);
        // A day at one failure in 302 h: most such days see none.
        assert!((runtime.no_failure.unwrap() - (-24.0f64 / 302.0).exp()).abs() < 1e-12);
        assert!(scheduling.sentence.contains("no whole week"), "{}", scheduling.sentence);
    }

    #[test]
    fn the_log_gives_the_mtbf_where_nobody_states_it() {
        let log =
            Evidence { interruptions: Some(6), failures: 3, held_ns: 300.0 * HOUR_NS, ..Evidence::default() };
        let runtime = &judge(&log)[0];
        assert!(runtime.adequate);
        assert!((runtime.no_failure.unwrap() - (-3.0f64).exp()).abs() < 1e-12);
        let unknown = judge(&Evidence { interruptions: Some(0), held_ns: HOUR_NS, ..Evidence::default() });
        assert!(unknown[0].sentence.contains("mtbf_hours"));
        assert!(!unknown[1].adequate && unknown[1].seen.is_none());
    }

    #[test]
    fn a_part_of_a_day_is_no_demand_cycle() {
        assert!(!demand(Boundary::Scheduling, 0.4 * DAY_NS).adequate);
        assert!(!demand(Boundary::Scheduling, 1.5 * DAY_NS).adequate);
        assert!(demand(Boundary::Scheduling, 30.5 * DAY_NS).adequate);
        assert!(demand(Boundary::Scheduling, 7.0 * DAY_NS).adequate);
    }
}
