//! How far predictions are from measured runs.
//!
//! ```
//! use goodput_predict::cluster::Clusters;
//! use goodput_predict::validate::{Rules, evaluate, read};
//!
//! let csv = "\
//! id,source_key,n_layers,hidden,n_heads,n_kv_heads,head_dim,ffn_hidden,ffn_type,vocab,tied_embeddings,seq_len,device_class,\
//! n_devices,tp,sp,cp,pp,dp,zero_or_sharding,mbs,gbs,precision_class,recompute,step_time_s
//! run-1,ours,32,4096,32,8,128,14336,swiglu,128256,no,8192,h100,8,1,no,1,1,8,zero-1,1,64,bf16,none,12.5
//! run-2,ours,32,4096,32,8,128,14336,swiglu,128256,no,8192,h100,8,3,no,1,1,8,zero-1,1,64,bf16,none,12.5
//! ";
//! let read = read("RUNS.csv", csv.as_bytes(), Rules::built_in(), Clusters::built_in())?;
//! let (rows, refused): (Vec<_>, Vec<_>) = read.into_iter().partition(Result::is_ok);
//! let rows: Vec<_> = rows.into_iter().flatten().collect();
//! assert_eq!(refused[0].as_ref().unwrap_err().field, "tp, cp, pp, dp");
//!
//! let report = evaluate(&rows).report().unwrap();
//! assert_eq!(report.all.rows, 1);
//! println!("{:.1} %, {:+.1} %", 100.0 * report.all.mape, 100.0 * report.all.bias);
//! # Ok::<(), goodput_predict::validate::ReadError>(())
//! ```

mod blame;
mod calibrate;
mod calibration_file;
mod collect;
mod dimension;
mod evaluate;
mod fields;
mod host_response;
mod layout;
mod model;
mod ranking;
mod read;
mod regression;
mod row;
mod rules;
mod settings;
mod statistics;
mod table;
#[cfg(test)]
mod tests;

pub use blame::{Blame, TermBlame};
pub use calibrate::{Calibration, CalibrationHalf, Factor, TestHalf};
pub use calibration_file::CalibrationFile;
pub use collect::{
    CollectedRow, Collector, Conflict, Derived, LEAST_STEPS, MeasuredStep, Missing, NoColumns, ParameterMap,
    RunLog, StepMetric, TooFewSteps, write_runs,
};
pub use dimension::Dimension;
pub use evaluate::{Evaluation, Failure, Outcome, Predicted, Report, evaluate, evaluate_with};
pub use fields::{Assumption, Refusal};
pub use host_response::HostResponse;
pub use ranking::{GroupRanking, Ranking};
pub use read::{ReadError, read};
pub use regression::{Reached, Regression, RegressionError, Worse};
pub use row::{Measured, RunRow, StepTimeSource};
pub use rules::{RuleError, Rules};
pub use statistics::{Errors, MemoryErrors, spearman};
pub use table::write_outcomes;
