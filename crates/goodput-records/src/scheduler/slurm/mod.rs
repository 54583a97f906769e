//! Slurm: the job table (`sacct`), and the notations that every Slurm tool shares.

pub mod node_list;
pub mod times;
pub mod tres;
