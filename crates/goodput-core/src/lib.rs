//! Accounting of accelerator capacity-time.
//!
//! Capacity-time crosses three boundaries in the order a job meets them, and each factor divides
//! what crossed by what arrived:
//!
//! ```text
//! offered --scheduling--> held --runtime--> retained --program--> ideal      MPG = ideal / offered
//! ```
//!
//! Every device-nanosecond that does not cross is one entry of a [`Ledger`], charged to the first
//! boundary that it fails to cross.
//!
//! ```
//! use goodput_core::{Boundary, CapacityTime, Ledger, Levels, Loss, Pattern, Timestamp, Window};
//!
//! // A pool of 100 devices for one hour: 65 held, of which 5 waited for input.
//! let window = Window::new(Timestamp::from_seconds(0), Timestamp::from_seconds(3600))?;
//! let devices = |n: u64| CapacityTime::of(n, window.duration_ns());
//! let levels = Levels { offered: devices(100), held: devices(65), retained: devices(60), ideal: devices(30) };
//! let ledger = Ledger::new(window, levels, vec![
//!     Loss::new(Pattern::NoDemand, devices(20)),
//!     Loss::new(Pattern::PartialGangHold, devices(15)),
//!     Loss::new(Pattern::InputWait, devices(5)),
//!     Loss::new(Pattern::TermUnsettled, devices(30)),
//! ])?;
//! assert_eq!(ledger.chain().factor(Boundary::Scheduling).settled, Some(0.65));
//! assert_eq!(ledger.chain().mpg().settled, Some(0.30));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod composed;
pub mod cost;
pub mod elastic;
pub mod ettr;
pub mod factors;
pub mod fleet;
pub mod frontier;
pub mod planning;
pub mod program;
pub mod records;
pub mod runtime;
pub mod scheduling;
pub mod serving;
pub mod tiers;
pub mod trade;
pub mod value;

mod boundary;
mod capacity;
mod chain;
mod ledger;
mod pattern;
mod range;
mod time;
mod warning;

pub use boundary::{Boundary, Owner};
pub use capacity::CapacityTime;
pub use chain::{Chain, Factor, Levels, Open};
pub use ledger::{Ledger, Loss, Unbalanced};
pub use pattern::Pattern;
pub use range::OutOfRange;
pub use time::{EmptyWindow, Interval, NS_PER_SECOND, Timestamp, Window};
pub use warning::Warning;
