//! Every nanosecond of a rank's window, charged once.
//!
//! The first that matches: a compute kernel, communication, a copy or fill, idle (step-traces reference, section 7).

mod charge;
mod words;

pub use charge::{Charge, HostCause, Slice, Split, Splits, WaitKind};
