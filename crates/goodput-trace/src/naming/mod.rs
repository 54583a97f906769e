//! What names mean, whatever wrote the trace: ranges and calls of the host, and collectives.

mod collective;
mod host;

pub(crate) use host::{annotation_kind, call, is_garbage_collection_bytes, operator_kind};
