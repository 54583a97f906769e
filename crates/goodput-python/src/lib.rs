//! The native half of `fleet_goodput`: thin classes and functions over the Rust crates. What a person sees, with its
//! documentation, is under `python/fleet_goodput`.

mod errors;
mod flops;
mod meter;
mod recorder;
mod reports;
mod table;
mod tables;

use pyo3::prelude::*;

/// Native half of `fleet_goodput`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::errors::GoodputError;
    #[pymodule_export]
    use crate::flops::{BatchFlops, FlopCounter, flops};
    #[pymodule_export]
    use crate::meter::{Figures, LocalStep, RankRow, ThroughputMeter};
    #[pymodule_export]
    use crate::recorder::Recorder;
    #[pymodule_export]
    use crate::reports::{
        Report, account, baseline_check, baseline_update, calibrate, collect, compare, explain, lint,
        mfu_audit, mfu_convert, plan, predict, search, serving, timeline, trace, validate,
    };
    #[pymodule_export]
    use crate::table::ArrowTable;
}
