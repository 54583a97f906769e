//! `ThroughputMeter`: the native half, one call a micro-batch and one a step.

use std::time::Instant;

use goodput_model::device::{Catalogue, Dtype};
use goodput_model::meter::{
    self, CountScope, Counts, DeferredLog, DtypePeak, ParallelLayout, PendingReduction, RankCounts,
    ReducedSteps, SequenceCounts,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::argument;

/// Counts one rank's steps and derives the job's figures.
#[pyclass(module = "fleet_goodput._native", subclass)]
pub struct ThroughputMeter {
    meter: meter::ThroughputMeter,
    log: DeferredLog<Reduction>,
    last_end: Instant,
    next_step: u64,
}

/// One step as this rank counted it.
#[pyclass(module = "fleet_goodput._native", frozen)]
#[derive(Clone)]
pub struct LocalStep {
    step: meter::LocalStep,
}

/// Figures of one or more steps of the whole job.
#[pyclass(module = "fleet_goodput._native", frozen)]
pub struct Figures {
    figures: meter::Figures,
    log_wait_ns: u64,
    lag_steps: u64,
    reduced: ReducedSteps,
}

/// One rank's part of the headline.
#[pyclass(module = "fleet_goodput._native", frozen, get_all)]
pub struct RankRow {
    /// Rank in the world.
    rank: u64,
    /// Its device's useful TFLOP/s.
    tflops_per_second: f64,
    /// Its FLOPs, exact.
    flops: u128,
    /// Devices times nanoseconds that they took.
    device_ns: u128,
}

/// A reduction that Python has started: an object with `is_ready()` and `result()`.
struct Reduction(Py<PyAny>);

impl PendingReduction for Reduction {
    type Error = PyErr;

    fn is_ready(&mut self) -> PyResult<bool> {
        Python::attach(|py| self.0.bind(py).call_method0("is_ready")?.is_truthy())
    }

    fn take(self, step: &meter::LocalStep) -> PyResult<ReducedSteps> {
        let (sums, peak_memory_bytes): (Vec<f64>, u64) =
            Python::attach(|py| self.0.bind(py).call_method0("result")?.extract())?;
        step.reduced(&sums, peak_memory_bytes).map_err(argument)
    }
}

/// FLOPs of a call: one number where the meter has one dtype, else a number a dtype.
#[derive(FromPyObject)]
enum Flops<'py> {
    Of(u128),
    ByDtype(Bound<'py, PyDict>),
}

#[pymethods]
impl ThroughputMeter {
    #[new]
    #[pyo3(signature = (world_size, *, tensor_parallel=1, context_parallel=1, pipeline_parallel=1,
        rank_counts="full_model", sequence_counts="whole", device=None, dtypes=vec!["bf16".to_owned()], peak_flops=None))]
    #[expect(clippy::too_many_arguments, reason = "the layout, all of it keywords")]
    fn new(
        world_size: u64,
        tensor_parallel: u64,
        context_parallel: u64,
        pipeline_parallel: u64,
        rank_counts: &str,
        sequence_counts: &str,
        device: Option<&str>,
        dtypes: Vec<String>,
        peak_flops: Option<Vec<(String, f64)>>,
    ) -> PyResult<Self> {
        let layout = ParallelLayout::new(world_size, tensor_parallel, context_parallel, pipeline_parallel)
            .map_err(argument)?;
        let flops = match rank_counts {
            "full_model" => RankCounts::FullModel,
            "tensor_shard" => RankCounts::TensorShard,
            "device_share" => RankCounts::DeviceShare,
            other => {
                let expected = "full_model, tensor_shard, device_share";
                return Err(argument(format!("rank_counts {other:?}: expected one of {expected}")));
            }
        };
        let sequence = match sequence_counts {
            "whole" => SequenceCounts::Whole,
            "context_shard" => SequenceCounts::ContextShard,
            other => {
                return Err(argument(format!("sequence_counts {other:?}: expected whole or context_shard")));
            }
        };
        let peaks = match (peak_flops, device) {
            (Some(_), Some(_)) => return Err(argument("give device or peak_flops, not both")),
            (Some(peaks), None) => {
                let peak = |(dtype, peak)| DtypePeak { dtype, flops_per_second: Some(peak) };
                peaks.into_iter().map(peak).collect()
            }
            (None, Some(device)) => {
                dtypes.into_iter().map(|dtype| catalogue_peak(device, dtype)).collect::<PyResult<_>>()?
            }
            (None, None) => {
                dtypes.into_iter().map(|dtype| DtypePeak { dtype, flops_per_second: None }).collect()
            }
        };
        let meter = meter::ThroughputMeter::new(CountScope::new(layout, flops, sequence), peaks);
        Ok(Self {
            meter: meter.map_err(argument)?,
            log: DeferredLog::default(),
            last_end: Instant::now(),
            next_step: 0,
        })
    }

    fn start(&mut self, step: u64) {
        self.last_end = Instant::now();
        self.next_step = step;
    }

    #[pyo3(signature = (*, tokens, flops, executed_tokens=None, executed_flops=None, samples=0, loss_sum=0.0))]
    fn micro_batch(
        &mut self,
        tokens: u64,
        flops: Flops<'_>,
        executed_tokens: Option<u64>,
        executed_flops: Option<Flops<'_>>,
        samples: u64,
        loss_sum: f64,
    ) -> PyResult<()> {
        let useful_flops = self.by_dtype("flops", flops)?;
        let executed_flops = match executed_flops {
            Some(flops) => self.by_dtype("executed_flops", flops)?,
            None => useful_flops.clone(),
        };
        let executed_tokens = executed_tokens.unwrap_or(tokens);
        let counts = Counts { tokens, executed_tokens, samples, useful_flops, executed_flops, loss_sum };
        self.meter.micro_batch(&counts).map_err(argument)
    }

    #[pyo3(signature = (*, elapsed_s=None, peak_memory_bytes=0))]
    fn end_step(&mut self, elapsed_s: Option<f64>, peak_memory_bytes: u64) -> PyResult<LocalStep> {
        let now = Instant::now();
        let elapsed_ns = match elapsed_s {
            Some(s) if s.is_finite() && s > 0.0 => (s * 1e9).round() as u64,
            Some(s) => return Err(argument(format!("elapsed_s is {s}: expected seconds above 0"))),
            None => u64::try_from((now - self.last_end).as_nanos()).unwrap_or(u64::MAX).max(1),
        };
        let step = self.meter.end_step(self.next_step, elapsed_ns, peak_memory_bytes).map_err(argument)?;
        self.last_end = now;
        self.next_step += 1;
        Ok(LocalStep { step })
    }

    /// Hands in a step and its reduction; gives the figures of earlier steps that have arrived.
    fn log(&mut self, step: &LocalStep, reduction: Py<PyAny>) -> PyResult<Vec<Figures>> {
        self.log.push(step.step.clone(), Reduction(reduction));
        let mut figures = Vec::new();
        while let Some(flushed) = self.log.flush()? {
            figures.push(self.flushed(flushed));
        }
        Ok(figures)
    }

    fn drain(&mut self) -> PyResult<Vec<Figures>> {
        let mut figures = Vec::new();
        while let Some(flushed) = self.log.take_oldest()? {
            figures.push(self.flushed(flushed));
        }
        Ok(figures)
    }

    #[getter]
    fn pending_steps(&self) -> usize {
        self.log.len()
    }

    #[getter]
    fn sum_group(&self) -> &'static str {
        self.meter.scope().sum_group().key()
    }

    #[getter]
    fn summed_ranks(&self) -> u64 {
        self.meter.scope().summed_ranks()
    }

    #[getter]
    fn peak_flops(&self) -> Vec<(String, Option<f64>)> {
        self.meter.peaks().iter().map(|peak| (peak.dtype.clone(), peak.flops_per_second)).collect()
    }

    /// The figures of a step whose sums are there.
    fn figures(&self, step: &LocalStep, sums: Vec<f64>, peak_memory_bytes: u64) -> PyResult<Figures> {
        let reduced = step.step.reduced(&sums, peak_memory_bytes).map_err(argument)?;
        Ok(self.of(reduced, 0, 0))
    }

    /// The figures over several steps: additive quantities add, the rest is derived from the sums.
    fn over(&self, steps: Vec<PyRef<'_, Figures>>) -> PyResult<Figures> {
        let mut steps = steps.iter();
        let first = steps.next().ok_or_else(|| argument("no figures: expected one step or more"))?;
        let (mut sum, mut wait, mut lag) = (first.reduced.clone(), first.log_wait_ns, first.lag_steps);
        for step in steps {
            sum.add(&step.reduced).map_err(argument)?;
            wait += step.log_wait_ns;
            lag = lag.max(step.lag_steps);
        }
        Ok(self.of(sum, wait, lag))
    }

    /// `perf_topk`: one row a rank of the world.
    fn breakdown(&self, figures: &Figures, rank_flops: Vec<u128>) -> PyResult<Vec<RankRow>> {
        let breakdown = self.meter.breakdown(&figures.reduced, &rank_flops).map_err(argument)?;
        let row = |row: &meter::RankRow| RankRow {
            rank: row.rank,
            tflops_per_second: row.rate.per_device_second() / 1e12,
            flops: row.rate.count,
            device_ns: row.rate.device_ns,
        };
        Ok(breakdown.rows().iter().map(row).collect())
    }
}

impl ThroughputMeter {
    fn by_dtype(&self, field: &str, flops: Flops<'_>) -> PyResult<Vec<u128>> {
        let peaks = self.meter.peaks();
        match flops {
            Flops::Of(flops) if peaks.len() == 1 => Ok(vec![flops]),
            Flops::Of(_) => {
                let dtypes: Vec<_> = peaks.iter().map(|peak| peak.dtype.as_str()).collect();
                Err(argument(format!("{field}: expected FLOPs by dtype ({})", dtypes.join(", "))))
            }
            Flops::ByDtype(by_dtype) => {
                let mut flops = vec![0; peaks.len()];
                for (dtype, value) in by_dtype {
                    let dtype: String = dtype.extract()?;
                    let position = peaks.iter().position(|peak| peak.dtype == dtype).ok_or_else(|| {
                        argument(format!("{field}: {dtype:?} is none of the meter's dtypes"))
                    })?;
                    flops[position] = value.extract()?;
                }
                Ok(flops)
            }
        }
    }

    fn of(&self, reduced: ReducedSteps, log_wait_ns: u64, lag_steps: u64) -> Figures {
        Figures { figures: self.meter.figures(&reduced), log_wait_ns, lag_steps, reduced }
    }

    fn flushed(&self, flushed: meter::FlushedStep) -> Figures {
        self.of(flushed.reduced, flushed.log_wait_ns, flushed.lag_steps)
    }
}

fn catalogue_peak(device: &str, dtype: String) -> PyResult<DtypePeak> {
    let named: Dtype = dtype.parse().map_err(argument)?;
    let peak = Catalogue::built_in().peak(device, named).map_err(argument)?;
    Ok(DtypePeak { dtype, flops_per_second: Some(peak.flops_per_second) })
}

#[pymethods]
impl LocalStep {
    #[getter]
    fn step(&self) -> u64 {
        self.step.step
    }

    #[getter]
    fn sums(&self) -> Vec<f64> {
        self.step.sums()
    }

    #[getter]
    fn peak_memory_bytes(&self) -> u64 {
        self.step.peak_memory_bytes
    }

    #[getter]
    fn tokens(&self) -> u64 {
        self.step.counts.tokens
    }

    #[getter]
    fn useful_flops(&self) -> u128 {
        self.step.counts.useful_flops.iter().sum()
    }

    #[getter]
    fn elapsed_s(&self) -> f64 {
        self.step.elapsed_ns as f64 / 1e9
    }
}

/// Getters of figures that are as the meter has them.
macro_rules! getters {
    ($($name:ident: $kind:ty),* $(,)?) => {
        #[pymethods]
        impl Figures {
            $(#[getter] fn $name(&self) -> $kind { self.figures.$name })*

            #[getter]
            fn mfu(&self) -> Option<f64> {
                self.figures.mfu.as_ref().ok().copied()
            }

            #[getter]
            fn mfu_refused(&self) -> Option<String> {
                self.figures.mfu.as_ref().err().map(ToString::to_string)
            }

            #[getter]
            fn hfu(&self) -> Option<f64> {
                self.figures.hfu.as_ref().ok().copied()
            }

            #[getter]
            fn hfu_refused(&self) -> Option<String> {
                self.figures.hfu.as_ref().err().map(ToString::to_string)
            }

            #[getter]
            fn log_wait_s(&self) -> f64 {
                self.log_wait_ns as f64 / 1e9
            }

            #[getter]
            fn lag_steps(&self) -> u64 {
                self.lag_steps
            }
        }
    };
}

getters!(
    step: u64,
    optimizer_steps: u64,
    tokens: u64,
    executed_tokens: u64,
    samples: u64,
    useful_flops: u128,
    executed_flops: u128,
    elapsed_s: f64,
    step_time_per_micro_batch_s: f64,
    step_time_per_optimizer_step_s: f64,
    tokens_per_second: f64,
    tokens_per_second_per_device: f64,
    samples_per_second: f64,
    useful_tflops_per_device: f64,
    executed_tflops_per_device: f64,
    batch_efficiency: Option<f64>,
    loss: Option<f64>,
    peak_memory_bytes: u64,
);
