//! The collective audit of a trace, and what to trace next.

use std::path::Path;

use goodput_core::records::Timeline;
use goodput_core::runtime::{RuntimeAccount, Use};
use goodput_report::{AuditView, SamplingView};
use goodput_trace::analysis::Analysis;
use goodput_trace::audit::{Mesh, Plan, compare, observed};
use goodput_trace::reading::FileReading;
use goodput_trace::sampling::trigger::Threshold;
use goodput_trace::sampling::{
    Budget, JobLayout, Phase, Request, StepTime, Suspect, bytes_per_device_second, plan,
};

use serde::Deserialize;

use crate::error::VerbError;
use crate::model;

/// What to trace next: how much, of which job, in which windows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingRequest {
    /// Ranks (`16`) or bytes (`100GB`).
    pub budget: String,
    /// Degrees of the job, as `tp=8,pp=4,dp=16,ep=1`.
    pub layout: Option<String>,
    /// Devices of a node.
    pub devices_per_node: u32,
    /// Length of a window in seconds.
    pub window_s: f64,
    /// Windows.
    pub windows: u32,
    /// Bytes that one device writes in a second of tracing, as `100MB`; measured on the traces given when absent.
    pub trace_rate: Option<String>,
}

/// Steps above the median by this many median deviations dump a trace.
const TRIGGER_DEVIATIONS: u32 = 5;

/// A mesh and its sharding.
pub(crate) fn mesh(path: &Path) -> Result<Plan, VerbError> {
    let text = std::fs::read_to_string(path).map_err(|e| VerbError::io(path, &e))?;
    Plan::from_yaml(&text, &path.display().to_string())
        .map_err(|e| VerbError::new(e.to_string()).help("examples/mesh.yaml has every field"))
}

/// Audits the middle judged step of the lowest rank that has one.
pub(crate) fn audit(plan: &Plan, analysis: &Analysis) -> Result<AuditView, VerbError> {
    let refused = |e: goodput_trace::audit::PlanError| VerbError::new(e.to_string());
    let with_steps = analysis.ranks.iter().filter(|rank| rank.judged().next().is_some());
    let audited = with_steps
        .min_by_key(|rank| rank.trace.identity.rank)
        .ok_or_else(|| VerbError::new("--mesh: no trace holds a step with device work"))?;
    let rank = audited.trace.identity.rank.unwrap_or(0);
    let judged: Vec<usize> =
        (0..audited.windows.len()).filter(|&step| audited.windows[step].judged).collect();
    let step = judged[judged.len() / 2];
    let architecture = model::architecture(&plan.model)?;
    let expected = plan.expected(&architecture, rank).map_err(refused)?;
    let layers = plan.layers(&architecture, rank).map_err(refused)?;
    let seen = observed(&audited.trace, audited.steps.work_of(step));
    let name = audited.trace.name(audited.steps.steps[step].name);
    let name = if name.is_empty() { format!("step {step}") } else { name.to_owned() };
    Ok(AuditView::new(rank, name, &compare(&plan.mesh, &expected, &seen, layers)))
}

/// What is known beside the request.
pub(crate) struct Known<'a> {
    /// The mesh of `--mesh`.
    pub mesh: Option<&'a Mesh>,
    /// The traces at hand.
    pub analysis: Option<(&'a Analysis, &'a [FileReading])>,
    /// The job's timeline.
    pub timeline: Option<(&'a Timeline, &'a RuntimeAccount)>,
}

/// Chooses ranks and windows.
pub(crate) fn sampling(request: &SamplingRequest, known: &Known<'_>) -> Result<SamplingView, VerbError> {
    let mesh = match (&request.layout, known.mesh) {
        (Some(text), _) => layout(text, request.devices_per_node)?.mesh(),
        (None, Some(mesh)) => mesh.clone(),
        (None, None) => {
            return Err(VerbError::new("--plan: nothing says how the job is laid out")
                .help("give --layout tp=8,pp=4,dp=16 or --mesh MESH.yaml"));
        }
    };
    let bytes_per_device_second = match &request.trace_rate {
        Some(text) => bytes("--trace-rate", text)?,
        None => known.analysis.and_then(measured_rate).ok_or_else(|| {
            VerbError::new("--plan: nothing says how many bytes a device writes in a second of tracing")
                .help("give traces of the job, or --trace-rate (100MB, say)")
        })?,
    };
    let window_ns = (request.window_s * 1e9).round() as i64;
    let steps = known.timeline.map_or_else(Vec::new, |(timeline, account)| step_times(timeline, account));
    let suspects = known.analysis.map_or_else(Vec::new, |(analysis, _)| suspects(analysis));
    let budget = match request.budget.parse::<u32>() {
        Ok(ranks) => Budget::Ranks(ranks),
        Err(_) => Budget::Bytes(bytes("--plan", &request.budget)?.into()),
    };
    let question = Request {
        mesh,
        budget,
        bytes_per_device_second,
        window_ns,
        windows: request.windows,
        steps: &steps,
        suspects: &suspects,
    };
    let chosen = plan(&question).map_err(|e| VerbError::new(format!("--plan: {e}")))?;
    let steady: Vec<i64> = steps.iter().filter(|s| s.phase == Phase::Steady).map(|s| s.duration_ns).collect();
    let trigger = Threshold::of(&steady, TRIGGER_DEVIATIONS);
    Ok(SamplingView::new(&chosen, bytes_per_device_second, window_ns, trigger))
}

/// `tp=8,pp=4,dp=16,ep=2`; what is left out is 1.
fn layout(text: &str, devices_per_node: u32) -> Result<JobLayout, VerbError> {
    let mut layout = JobLayout { tensor: 1, expert: 1, data: 1, pipeline: 1, devices_per_node };
    let mut stated = Vec::new();
    for part in text.split(',') {
        let degree = part.split_once('=').and_then(|(name, degree)| {
            let degree = degree.trim().parse::<u32>().ok().filter(|&degree| degree > 0)?;
            Some((name.trim(), degree))
        });
        let name = degree.map_or("", |(name, _)| name);
        if stated.contains(&name) {
            return Err(VerbError::new(format!("--layout {text}: {name} is stated twice")));
        }
        stated.push(name);
        match degree {
            Some(("tp", degree)) => layout.tensor = degree,
            Some(("pp", degree)) => layout.pipeline = degree,
            Some(("dp", degree)) => layout.data = degree,
            Some(("ep", degree)) => layout.expert = degree,
            _ => {
                return Err(VerbError::new(format!(
                    "--layout {text}: found {part:?}; expected tp, pp, dp or ep with a degree above 0"
                ))
                .help("for example --layout tp=8,pp=4,dp=16"));
            }
        }
    }
    let degrees = [layout.tensor, layout.expert, layout.data, layout.pipeline];
    let ranks = degrees.iter().try_fold(1_u32, |ranks, &degree| ranks.checked_mul(degree));
    if ranks.is_none_or(|ranks| ranks > Mesh::MOST_RANKS) {
        return Err(VerbError::new(format!(
            "--layout {text}: expected a job of {} ranks at most",
            Mesh::MOST_RANKS
        )));
    }
    Ok(layout)
}

/// `100GB`, `1.5TB`, `500MB`: powers of ten.
fn bytes(option: &str, text: &str) -> Result<u64, VerbError> {
    const UNITS: [(&str, f64); 5] = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)];
    let number = UNITS.iter().find_map(|(unit, factor)| {
        let digits = text.strip_suffix(unit)?.trim();
        digits.parse::<f64>().ok().map(|number| number * factor)
    });
    match number {
        Some(number) if (1.0..1e18).contains(&number) => Ok(number.round() as u64),
        _ => Err(VerbError::new(format!(
            "{option} {text}: expected a number with kB, MB, GB or TB (100GB, say)"
        ))),
    }
}

/// Bytes of the traces as they lie on disk over the device-time that they cover.
fn measured_rate((analysis, files): (&Analysis, &[FileReading])) -> Option<u64> {
    let on_disk: u64 = files.iter().filter_map(|file| file.path.metadata().ok()).map(|m| m.len()).sum();
    let device_ns =
        analysis.ranks.iter().filter_map(|rank| rank.whole.as_ref()).map(|whole| whole.window_ns()).sum();
    bytes_per_device_second(on_disk, device_ns)
}

fn suspects(analysis: &Analysis) -> Vec<Suspect> {
    let Some(peers) = &analysis.peers else { return Vec::new() };
    let blamed = analysis.ranks.iter().zip(&peers.blame).filter(|(_, blame)| blame.skew_ns > 0);
    blamed
        .filter_map(|(rank, blame)| {
            Some(Suspect { rank: rank.trace.identity.rank?, blame_ns: blame.skew_ns })
        })
        .collect()
}

/// Steps of the timeline by what the account says of the time in which they began.
fn step_times(timeline: &Timeline, account: &RuntimeAccount) -> Vec<StepTime> {
    let mut steps: Vec<StepTime> = timeline
        .steps
        .windows(2)
        .filter_map(|pair| {
            let (step, next) = (&pair[0], &pair[1]);
            let end = step.end.unwrap_or(next.start);
            let mut lanes = account.lanes.iter().flatten();
            let segment = lanes.rfind(|s| s.interval.start <= step.start && step.start < s.interval.end)?;
            let phase = match segment.used_for {
                Use::Productive => Phase::Steady,
                Use::Lost(goodput_core::Pattern::Evaluation) => Phase::Evaluation,
                Use::Lost(goodput_core::Pattern::CheckpointPause) => Phase::Checkpoint,
                Use::Lost(_) => Phase::WarmUp,
            };
            Some(StepTime {
                number: i64::try_from(step.index).ok()?,
                start_ns: step.start.as_nanos(),
                duration_ns: (end - step.start) / i64::from(step.count.max(1)),
                phase,
            })
        })
        .collect();
    steps.sort_by_key(|step| step.start_ns);
    steps
}
