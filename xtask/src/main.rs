//! Checks of the workspace in one command.
fn main() {}
