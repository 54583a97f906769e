//! Runs the built binary in the folder of the test data.
#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses its part; a test may panic")]

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use serde_json::Value;

/// What a run printed.
pub struct Output {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// The folder of the test data.
pub fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join("data")
}

/// Records that are not part of the repository; `None`, with a line that says so, where they are not there.
pub fn shared() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: ../shared is not there");
    None
}

/// The built binary.
pub fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_goodput")
}

/// Runs it.
pub fn run(args: &[impl AsRef<OsStr>]) -> Output {
    let output = Command::new(binary())
        .args(args)
        .current_dir(data())
        .env_remove("COLUMNS")
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    Output {
        status: output.status,
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs it and reads its JSON.
pub fn json(args: &[impl AsRef<OsStr>]) -> Value {
    let output = run(args);
    assert!(output.status.success(), "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}
