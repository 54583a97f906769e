//! The collective audit: what a step should communicate by its mesh and sharding, against what its trace shows.
//!
//! A compiler that derives layouts inserts exchanges that no line of the program names. Counting the exchanges of one
//! step by operation and axis, and checking them against the intended layout, tells whether it did what was meant: an
//! unexpected all-gather in every layer is the sign of annotations in conflict.
//!
//! ```
//! use goodput_model::Architecture;
//! use goodput_trace::audit::Plan;
//! use goodput_trace::trace::CollectiveKind;
//! let plan = Plan::from_yaml("
//! model: llama3.1-70b
//! mesh:
//!   axes: [{name: data, size: 16}, {name: model, size: 8, within_node: true}]
//!   devices_per_node: 8
//! sharding:
//!   tensor: {axis: model}
//!   data: {axis: data}
//! batch: {tokens: 2217}
//! ", "mesh.yaml")?;
//! let expected = plan.expected(&Architecture::known(&plan.model)?, 0)?;
//! let sums = &expected[0];
//! assert_eq!((sums.operation, sums.count_per_step), (CollectiveKind::AllReduce, 320));
//! assert_eq!((sums.bytes_each, sums.nodes), (36_323_328, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compare;
mod expected;
mod mesh;
mod observed;
mod plan;
mod sizes;
#[cfg(test)]
mod tests;

pub use compare::{Audit, Extra, Line, LooksLike, Misplaced, Verdict, compare};
pub use expected::{Expected, Settled};
pub use mesh::{Axis, Mesh};
pub use observed::{Observed, observed};
pub use plan::{
    Batch, Context, ContextMethod, Data, ElementBytes, Expert, Pipeline, Plan, PlanError, Sharding, Shards,
    Tensor,
};
