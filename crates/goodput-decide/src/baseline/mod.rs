//! Regressions over a history of reports, in five tiers (docs/baseline.md).
//!
//! Reports become [`Row`]s ([`distil`]), rows a [`History`], and a [`Check`] judges it:
//!
//! | tier | what it looks at | how it is judged |
//! |---|---|---|
//! | canary | the newest run on each number of devices ([`Curve`]) | against its earlier runs |
//! | MFU | each run over time, and against the runs of its group ([`Departure`]) | change points; against the others |
//! | gray failure | step times, their tail, per-rank timers ([`SlowHost`]) | change points; a rank slower than its peers |
//! | startup and recovery | launches, commits, restarts, input | change points |
//! | allocation | queue waits, incomplete gangs, fragmentation | change points, the weekly cycle taken out |

mod canary;
mod cause;
mod change;
mod check;
mod departure;
mod distil;
mod gray;
mod history;
mod label;
mod metric;
mod null;
mod prepare;
mod row;
mod series;
mod split;
mod student;

pub use canary::{Curve, CurvePoint};
pub use cause::Cause;
pub use change::{Change, Tested, largest_rejected};
pub use check::{Check, Finding, Settings};
pub use departure::Departure;
pub use distil::{Labels, NoRows, distil};
pub use gray::{SlowHost, SlowInJob};
pub use history::{Added, History, RefusedLine};
pub use label::{Label, Versions};
pub use metric::{Measure, Metric, Tier};
pub use null::false_alarm;
pub use prepare::{Prepared, WEEKLY_FROM, prepare};
pub use row::{
    AllocationFigures, EventFigures, FactorFigures, Kind, ProgramFigures, Row, SlowestFigures, StepFigures,
};
pub use series::Series;
pub use split::{MIN_LENGTH, MIN_SIDE, Split, strongest};
pub use student::FEWEST;
