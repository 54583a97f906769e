//! JSON as traces hold it: a pull scanner over bytes, and a window that moves over a stream.
//!
//! Traces are not always legal JSON. What is lenient here, and why, is said at [`Scanner`].

mod number;
mod scanner;
mod text;
mod walker;
mod window;

pub(crate) use number::{integer, is_not_finite, micros_to_ns};
pub(crate) use scanner::{Scan, Scanner, Stop, Value};
pub(crate) use text::decode;
pub(crate) use walker::Walker;
pub(crate) use window::Window;
