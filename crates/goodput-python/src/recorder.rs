//! `Recorder`: the native half of `fleet_goodput.TimelineRecorder`. Instants are nanoseconds since 1970, UTC.

use std::path::PathBuf;

use goodput_core::Timestamp;
use goodput_core::records::{Commits, EventKind, Phase, StepWork, Timeline, TimelineWork};
use goodput_records::timeline::TimelineRecorder;
use pyo3::prelude::*;

use crate::errors::{argument, record};

/// Appends lines to a timeline.
#[pyclass(module = "fleet_goodput._native", frozen)]
pub struct Recorder {
    inner: TimelineRecorder,
}

/// The value of a word of the format.
fn named<T: Copy>(field: &str, words: &[(&str, T)], word: &str) -> PyResult<T> {
    words.iter().find(|(known, _)| *known == word).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<_> = words.iter().map(|(known, _)| *known).collect();
        argument(format!("{field} {word:?}: expected one of {}", known.join(", ")))
    })
}

fn phase_of(word: &str) -> PyResult<Phase> {
    named("phase", TimelineRecorder::PHASES, word)
}

fn at(ns: i64) -> Timestamp {
    Timestamp::from_nanos(ns)
}

#[pymethods]
impl Recorder {
    #[new]
    #[pyo3(signature = (path, *, job=None, devices=None, device=None, peak_tflops=None, dtype=None,
        model_flops_per_token=None, convention=None, planned_steps=None, commits=false, software=Vec::new()))]
    #[expect(clippy::too_many_arguments, reason = "the header's fields, all of them keywords")]
    fn new(
        path: PathBuf,
        job: Option<String>,
        devices: Option<u64>,
        device: Option<String>,
        peak_tflops: Option<f64>,
        dtype: Option<String>,
        model_flops_per_token: Option<f64>,
        convention: Option<String>,
        planned_steps: Option<u64>,
        commits: bool,
        software: Vec<(String, String)>,
    ) -> PyResult<Self> {
        for (name, value) in [("peak_tflops", peak_tflops), ("model_flops_per_token", model_flops_per_token)]
        {
            if let Some(value) = value.filter(|value| !(value.is_finite() && *value > 0.0)) {
                return Err(argument(format!("{name} is {value}: expected a number above 0")));
            }
        }
        if devices == Some(0) {
            return Err(argument("devices is 0: expected the active accelerators, 1 or more"));
        }
        let header = Timeline {
            job,
            devices,
            planned_steps,
            commits: if commits { Commits::Recorded } else { Commits::Unknown },
            software,
            ideal: TimelineWork {
                device,
                peak_flops_per_second: peak_tflops.map(|tflops| tflops * 1e12),
                dtype,
                model_flops_per_token,
                convention,
            },
            ..Timeline::default()
        };
        Ok(Self { inner: TimelineRecorder::open(path, &header).map_err(record)? })
    }

    fn now(&self) -> i64 {
        self.inner.now().as_nanos()
    }

    #[pyo3(signature = (step, start, end, input_wait_ns=0, tokens=0, model_flops=0))]
    fn step(
        &self,
        step: u64,
        start: i64,
        end: i64,
        input_wait_ns: i64,
        tokens: u64,
        model_flops: u128,
    ) -> PyResult<()> {
        let work = StepWork { tokens, model_flops };
        self.inner.step(step, at(start), at(end), input_wait_ns, work).map_err(record)
    }

    #[pyo3(signature = (step, rank, host, device, duration_ns, input_wait_ns=0))]
    fn rank(
        &self,
        step: u64,
        rank: u32,
        host: &str,
        device: Option<u32>,
        duration_ns: i64,
        input_wait_ns: i64,
    ) -> PyResult<()> {
        self.inner.rank(step, rank, host, device, duration_ns, input_wait_ns).map_err(record)
    }

    fn begin_phase(&self, kind: &str, name: &str, start: i64) -> PyResult<()> {
        self.inner.begin_phase(phase_of(kind)?, name, at(start)).map_err(record)
    }

    fn end_phase(&self, kind: &str, name: &str, end: i64) -> PyResult<()> {
        self.inner.end_phase(phase_of(kind)?, name, at(end)).map_err(record)
    }

    fn phase(&self, kind: &str, name: &str, start: i64, end: i64) -> PyResult<()> {
        self.inner.phase(phase_of(kind)?, name, at(start), at(end)).map_err(record)
    }

    fn logging(&self, start: i64, end: i64) -> PyResult<()> {
        self.inner.logging(at(start), at(end)).map_err(record)
    }

    fn save(&self, step: u64, when: i64) -> PyResult<()> {
        self.inner.event(EventKind::SaveStarted { step }, at(when)).map_err(record)
    }

    fn commit(&self, step: u64, when: i64) -> PyResult<()> {
        self.inner.event(EventKind::Committed { step }, at(when)).map_err(record)
    }

    fn restore(&self, step: Option<u64>, when: i64) -> PyResult<()> {
        self.inner.event(EventKind::Restored { step }, at(when)).map_err(record)
    }

    fn resize(&self, devices: u64, when: i64) -> PyResult<()> {
        self.inner.event(EventKind::Resized { devices }, at(when)).map_err(record)
    }

    fn standby(&self, devices: u64, when: i64) -> PyResult<()> {
        self.inner.event(EventKind::Standby { devices }, at(when)).map_err(record)
    }

    fn stop(&self, cause: &str, when: i64) -> PyResult<()> {
        let cause = named("cause", TimelineRecorder::CAUSES, cause)?;
        self.inner.stop(cause, at(when)).map_err(record)
    }

    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.inner.sync()).map_err(record)
    }
}
