//! `goodput mfu`

mod audit;
mod convert;

pub use audit::{AuditRequest, audit_mfu};
pub use convert::{ConversionRequest, convert_mfu};
