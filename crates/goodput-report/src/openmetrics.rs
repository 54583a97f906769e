//! OpenMetrics text: the figures of a view as gauges, the rows read as counters. Unknown figures have no sample.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::view::{
    AccountView, ContractView, FactorBoundsView, LedgerView, LossView, ReadReportView, ServingView,
    TimelineView, WarningView,
};

/// A fleet's account as OpenMetrics text, ending in `# EOF`. The fleet and its pools are told apart by
/// the label `scope`, so that a sum over one of them counts nothing twice.
///
/// # Errors
/// Only if writing to a string fails.
pub fn account(view: &AccountView) -> Result<String, fmt::Error> {
    let mut families = Families::default();
    families.contract(&view.contract, &view.generated_by);
    families.ledger("fleet", "", &view.ledger, &view.losses);
    for pool in &view.pools {
        families.ledger("pool", &pool.name, &pool.ledger, &pool.losses);
    }
    if let Some(cost) = &view.cost {
        let labels = vec![("currency", cost.currency.clone())];
        families.gauge(Family::Cost, labels, cost.per_useful_device_hour);
    }
    families.read_report(&view.read_report, &view.warnings);
    families.encode()
}

/// One job's account as OpenMetrics text, ending in `# EOF`.
///
/// # Errors
/// Only if writing to a string fails.
pub fn timeline(view: &TimelineView) -> Result<String, fmt::Error> {
    let mut families = Families::default();
    families.contract(&view.contract, &view.generated_by);
    families.ledger("job", "", &view.ledger, &view.losses);
    let steps = [
        ("executed", view.steps.executed),
        ("retained", view.steps.retained),
        ("discarded", view.steps.discarded),
        ("pending", view.steps.pending),
    ];
    for (fate, n) in steps {
        families.gauge(Family::Steps, vec![("fate", fate.to_owned())], Some(n as f64));
    }
    let fault_free_s = view.fault_free_step_ns.map(|ns| ns.as_i64() as f64 / 1e9);
    families.gauge(Family::FaultFreeStep, Vec::new(), fault_free_s);
    families.read_report(&view.read_report, &view.warnings);
    families.encode()
}

/// A serving fleet's account as OpenMetrics text, ending in `# EOF`. Rows are told apart by `deployment` and `device`,
/// measures by `measure`: none of them adds up.
///
/// # Errors
/// Only if writing to a string fails.
pub fn serving(view: &ServingView) -> Result<String, fmt::Error> {
    let mut families = Families::default();
    let seconds = |ns: crate::view::Exact| Some(ns.as_i64() as f64 / 1e9);
    families.gauge(Family::WindowStart, Vec::new(), seconds(view.contract.window.from_ns));
    families.gauge(Family::WindowEnd, Vec::new(), seconds(view.contract.window.to_ns));
    for row in &view.rows {
        let with = |name, value: &str| {
            let device = row.basis.device.clone().unwrap_or_default();
            vec![("deployment", row.deployment.clone()), ("device", device), (name, value.to_owned())]
        };
        for (used, amount) in &row.uses.0 {
            let used = used.trim_end_matches("_ns");
            families.gauge(Family::ServingHeld, with("use", used), Some(amount.capacity().device_seconds()));
        }
        for loss in &row.losses {
            let amount = loss.amount_ns.capacity().device_seconds();
            families.gauge(Family::ServingLoss, with("class", loss.class), Some(amount));
        }
        for measure in &row.measures {
            families.gauge(Family::ServingMeasure, with("measure", measure.key), measure.value);
        }
    }
    families.read_report(&view.read_report, &view.warnings);
    families.encode()
}

/// Every metric family, in the order in which it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    Report,
    WindowStart,
    WindowEnd,
    Devices,
    Capacity,
    Loss,
    Factor,
    FactorCoverage,
    FactorLow,
    FactorHigh,
    Cost,
    Steps,
    FaultFreeStep,
    ServingHeld,
    ServingLoss,
    ServingMeasure,
    ReadRows,
    Warnings,
}

impl Family {
    fn name_and_help(self) -> (&'static str, &'static str) {
        match self {
            Self::Report => ("goodput_report_build", "What made the report and what it divides by."),
            Self::WindowStart => {
                ("goodput_window_start_timestamp_seconds", "First instant inside the accounting window.")
            }
            Self::WindowEnd => {
                ("goodput_window_end_timestamp_seconds", "First instant after the accounting window.")
            }
            Self::Devices => ("goodput_devices", "Most devices at any time in the window."),
            Self::Capacity => {
                ("goodput_capacity_device_seconds", "Capacity-time at each level of the chain in the window.")
            }
            Self::Loss => (
                "goodput_loss_device_seconds",
                "Capacity-time lost in the window, at the first boundary it failed to cross.",
            ),
            Self::Factor => (
                "goodput_factor",
                "Scheduling goodput (held over offered), runtime goodput (retained over held), program goodput (ideal over retained) and ML productivity goodput (mpg, ideal over offered) of the window, on the settled share.",
            ),
            Self::FactorCoverage => {
                ("goodput_factor_coverage", "Share of what arrived on which the factor is settled.")
            }
            Self::FactorLow => ("goodput_factor_low", "The factor if everything unsettled were lost."),
            Self::FactorHigh => ("goodput_factor_high", "The factor if everything unsettled crossed."),
            Self::Cost => ("goodput_useful_device_hour_cost", "Price of one device-hour of ideal-rate work."),
            Self::Steps => ("goodput_steps", "Steps in the window by fate."),
            Self::FaultFreeStep => ("goodput_fault_free_step_seconds", "Fault-free step time."),
            Self::ServingHeld => {
                ("goodput_serving_held_device_seconds", "Held time of a deployment's replicas by use.")
            }
            Self::ServingLoss => (
                "goodput_serving_loss_device_seconds",
                "Held time of a deployment's replicas lost, by class.",
            ),
            Self::ServingMeasure => (
                "goodput_serving_measure",
                "A measure of a serving deployment under its own ideal; measures do not add up.",
            ),
            Self::ReadRows => ("goodput_read_rows", "Rows of each input file by what became of them."),
            Self::Warnings => ("goodput_warnings", "Warnings of each kind."),
        }
    }

    fn metric_type(self) -> MetricType {
        match self {
            Self::Report => MetricType::Info,
            Self::ReadRows => MetricType::Counter,
            _ => MetricType::Gauge,
        }
    }
}

type Labels = Vec<(&'static str, String)>;

#[derive(Debug)]
enum Sample {
    Info,
    Gauge(f64),
    Counter(u64),
}

/// Samples, to be grouped by family.
#[derive(Debug, Default)]
struct Families(Vec<(Family, Labels, Sample)>);

impl Families {
    fn gauge(&mut self, family: Family, labels: Labels, value: Option<f64>) {
        if let Some(value) = value.filter(|v| v.is_finite()) {
            self.0.push((family, labels, Sample::Gauge(value)));
        }
    }

    fn contract(&mut self, contract: &ContractView, generated_by: &str) {
        let labels = vec![
            ("generated_by", generated_by.to_owned()),
            ("scope", contract.scope.to_owned()),
            ("denominator", contract.denominator.to_owned()),
        ];
        self.0.push((Family::Report, labels, Sample::Info));
        let seconds = |ns: crate::view::Exact| Some(ns.as_i64() as f64 / 1e9);
        self.gauge(Family::WindowStart, Vec::new(), seconds(contract.window.from_ns));
        self.gauge(Family::WindowEnd, Vec::new(), seconds(contract.window.to_ns));
        self.gauge(Family::Devices, Vec::new(), Some(contract.devices as f64));
    }

    fn ledger(&mut self, scope: &str, pool: &str, ledger: &LedgerView, losses: &[LossView]) {
        let within = |first: Labels| -> Labels {
            first.into_iter().chain([("scope", scope.to_owned()), ("pool", pool.to_owned())]).collect()
        };
        let capacity = &ledger.capacity_time;
        let levels = [
            ("offered", capacity.offered_ns),
            ("held", Some(capacity.held_ns)),
            ("retained", Some(capacity.retained_ns)),
            ("ideal", Some(capacity.ideal_ns)),
        ];
        for (level, amount) in levels {
            let seconds = amount.map(|a| a.capacity().device_seconds());
            self.gauge(Family::Capacity, within(vec![("level", level.to_owned())]), seconds);
        }
        for loss in losses {
            let labels = vec![
                ("boundary", loss.boundary.to_owned()),
                ("pattern", loss.pattern.to_owned()),
                ("owner", loss.owner.to_owned()),
            ];
            self.gauge(Family::Loss, within(labels), Some(loss.amount_ns.capacity().device_seconds()));
        }
        let (factors, bounds) = (&ledger.factors, &ledger.factor_bounds);
        let all = [
            ("scheduling", factors.scheduling, bounds.scheduling),
            ("runtime", factors.runtime, Some(bounds.runtime)),
            ("program", factors.program, Some(bounds.program)),
            ("mpg", factors.mpg, bounds.mpg),
        ];
        for (name, settled, bounds) in all {
            let labels = || within(vec![("factor", name.to_owned())]);
            self.gauge(Family::Factor, labels(), settled);
            if let Some(FactorBoundsView { coverage, low, high, .. }) = bounds {
                self.gauge(Family::FactorCoverage, labels(), Some(coverage));
                self.gauge(Family::FactorLow, labels(), Some(low));
                self.gauge(Family::FactorHigh, labels(), Some(high));
            }
        }
    }

    fn read_report(&mut self, read: &ReadReportView, warnings: &[WarningView]) {
        for file in &read.files {
            for (outcome, rows) in [
                ("seen", file.rows),
                ("used", file.used),
                ("repaired", file.repaired),
                ("refused", file.refused),
            ] {
                let labels = vec![("file", file.path.clone()), ("outcome", outcome.to_owned())];
                self.0.push((Family::ReadRows, labels, Sample::Counter(rows)));
            }
        }
        let mut codes: Vec<(&'static str, u64)> = Vec::new();
        for warning in warnings {
            match codes.iter_mut().find(|(code, _)| *code == warning.code) {
                Some((_, n)) => *n += 1 + warning.more,
                None => codes.push((warning.code, 1 + warning.more)),
            }
        }
        for (code, n) in codes {
            self.gauge(Family::Warnings, vec![("code", code.to_owned())], Some(n as f64));
        }
    }

    fn encode(mut self) -> Result<String, fmt::Error> {
        self.0.sort_by_key(|(family, ..)| *family);
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut out = String::new();
        text::encode(&mut out, &registry)?;
        Ok(out)
    }
}

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in self.0.chunk_by(|a, b| a.0 == b.0) {
            let kind = family[0].0;
            let (name, help) = kind.name_and_help();
            let mut metric = encoder.encode_descriptor(name, help, None, kind.metric_type())?;
            for (_, labels, sample) in family {
                match sample {
                    Sample::Info => metric.encode_info(labels)?,
                    Sample::Gauge(value) => ConstGauge::new(*value).encode(metric.encode_family(labels)?)?,
                    Sample::Counter(n) => ConstCounter::new(*n).encode(metric.encode_family(labels)?)?,
                }
            }
        }
        Ok(())
    }
}
