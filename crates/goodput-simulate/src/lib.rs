//! A fleet with known truth: [`Scenario`] says what it is made of, [`simulate`] lets it run, and the
//! [`World`] that results writes the records that a real one would leave, with the [`Truth`] that an
//! accounting of those records must find. [`step_trace`] does the same for the traces of a job's steps, [`serving`] for a
//! fleet of inference replicas.

mod random;
mod scenario;
pub mod serving;
pub mod step_trace;
mod truth;
mod world;
mod write;

pub use scenario::*;
pub use truth::{JobTime, Knowledge, PoolTime, StepCounts, TrueLedger, Truth};
pub use world::{
    Attempt, Job, Mark, Node, NodeEvent, NodeSnapshot, QueueSnapshot, Snapshot, Steps, Stretch, WaitsFor,
    What, World, simulate,
};
