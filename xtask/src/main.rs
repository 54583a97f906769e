//! Checks of the workspace in one command: `cargo xtask test`.
//!
//! It runs everything there is to test, installs what it can, and otherwise says what is missing.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

mod page;
mod python;

const USAGE: &str = "cargo xtask <task>

  test      format, lints, every test, documentation, licences, the Python package, and the report page in a browser
  page      only the report page in a browser (needs chromium)
  python    only the Python package (needs python3; installs what it tests with into the build cache)
  python-frameworks
            the same with PyTorch, Transformers and Lightning (installs 6 GB)
  deny      only licences and sources (installs cargo-deny into the build cache when it is missing)
";

fn main() -> ExitCode {
    let task = env::args().nth(1).unwrap_or_default();
    let outcome = match task.as_str() {
        "test" => test(),
        "page" => page::check(),
        "python" => python::check(),
        "python-frameworks" => python::check_frameworks(),
        "deny" => deny(),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Everything there is to test, cheapest first.
fn test() -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"])?;
    cargo(&["test", "--workspace"])?;
    let mut doc = cargo_command(&["doc", "--workspace", "--no-deps", "--quiet"]);
    doc.env("RUSTDOCFLAGS", "--deny warnings");
    run(doc)?;
    deny()?;
    python::check()?;
    page::check()
}

/// Licences and sources of every dependency.
fn deny() -> Result<(), String> {
    let root = target_dir().join("tools");
    let installed = root.join("bin").join("cargo-deny");
    if !installed.exists() {
        cargo(&["install", "cargo-deny", "--version", "0.20.2", "--locked", "--quiet", "--root", &root.to_string_lossy()])
            .map_err(|e| format!("{e}\ncargo-deny could not be installed: `cargo install cargo-deny --locked`, then run this again"))?;
    }
    let mut command = Command::new(&installed);
    command
        .args(["--log-level", "error", "check", "bans", "licenses", "sources"])
        .current_dir(workspace_root());
    run(command)
}

fn cargo(args: &[&str]) -> Result<(), String> {
    run(cargo_command(args))
}

fn cargo_command(args: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(workspace_root());
    command
}

/// Runs a command, its output shown; an error names the command.
fn run(mut command: Command) -> Result<(), String> {
    let shown = format!("{command:?}").replace('"', "");
    println!("==> {shown}");
    let began = Instant::now();
    let status = command.status().map_err(|e| format!("{shown}: {e}"))?;
    println!("    {:.1} s", began.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(format!("failed: {shown} ({status})")) }
}

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace_root().join("target"), PathBuf::from)
}
