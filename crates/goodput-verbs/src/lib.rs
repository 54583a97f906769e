//! The verbs as functions: what a person asks (a request) answered as a view. The command and the Python package
//! both ask here, so that they cannot differ.
//!
//! ```no_run
//! use goodput_verbs::{TimelineRequest, timeline};
//! let request = TimelineRequest { files: vec!["run.jsonl".into()], ..TimelineRequest::default() };
//! let answer = timeline(&request, &mut Default::default())?;
//! println!("{:?}", answer.view.ledger.factors);
//! # Ok::<(), goodput_verbs::VerbError>(())
//! ```

mod account;
mod baseline;
mod calibrate;
mod compare;
mod contract;
mod device;
mod error;
mod explain;
mod file_kind;
mod fleet_file;
mod flops;
mod inputs;
mod lint;
mod measured_tables;
mod mfu;
mod model;
mod plan;
mod predict;
mod request;
mod run_file;
mod search;
mod serving;
mod time_argument;
mod timeline;
mod trace;
mod trace_model;
mod trace_plan;
mod validate;

pub use account::{account, account_records, default_options};
pub use baseline::{BaselineCheckRequest, BaselineUpdateRequest, baseline_check, baseline_update};
pub use calibrate::{CalibrateRequest, calibrate};
pub use compare::{CompareRequest, compare};
pub use error::{Place, VerbError};
pub use explain::{ExplainRequest, explain};
pub use fleet_file::fleet_file;
pub use flops::{FlopsRequest, TrainingRequest, flop_counter, flops, self_check};
pub use inputs::{Inputs, Watch};
pub use lint::{LintRequest, lint};
pub use measured_tables::MeasuredTables;
pub use mfu::{AuditRequest, ConversionRequest, audit_mfu, convert_mfu};
pub use model::architecture;
pub use plan::{PlanRequest, plan};
pub use predict::{PredictRequest, predict};
pub use request::{AccountRequest, ReportRequest, TimelineInput, TimelineRequest, WindowRequest, Work};
pub use search::{SearchRequest, search};
pub use serving::{ServingRequest, serving};
pub use time_argument::window;
pub use timeline::timeline;
pub use trace::{Progress, TraceRequest, trace};
pub use trace_model::TraceModelRequest;
pub use trace_plan::SamplingRequest;
pub use validate::{
    CalibrationRequest, CollectRequest, RegressionRequest, ValidateRequest, collect, validate,
};

/// A verb's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<View> {
    /// The report.
    pub view: View,
    /// Whether rows were repaired or refused, or a warning questions a figure.
    pub falls_short: bool,
}
