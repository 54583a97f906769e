//! The Python package: built, installed into an environment of its own in the build cache, and tested.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{run, target_dir, workspace_root};

/// What builds and tests it, and the frameworks that are small enough to come along. PyTorch for a CPU is not among the
/// registry's packages on Linux: its CUDA build is 3 GB, so the rest is tested with `cargo xtask python-frameworks`.
const PACKAGES: &[&str] = &["maturin>=1.16,<2", "pytest>=8", "pyarrow", "polars", "pandas", "jax"];
const FRAMEWORKS: &[&str] = &["torch", "transformers", "accelerate", "lightning"];

/// Tests the package; without Python or its packages it says what is missing and passes, as the rest needs neither.
pub fn check() -> Result<(), String> {
    let environment = target_dir().join("python");
    let python = executable(&environment, "python");
    if !python.exists() && !succeeds(Command::new("python3").args(["-m", "venv"]).arg(&environment)) {
        println!(
            "==> the Python package is not tested: python3 (3.10 or newer) with its venv module is missing"
        );
        return Ok(());
    }
    if !install(&python, PACKAGES) {
        println!(
            "==> the Python package is not tested: pip could not install {} into {}",
            PACKAGES.join(", "),
            environment.display()
        );
        return Ok(());
    }
    develop_and_test(&environment)
}

/// Tests the package with every framework that it has callbacks for.
pub fn check_frameworks() -> Result<(), String> {
    let environment = target_dir().join("python");
    let python = executable(&environment, "python");
    if !python.exists() {
        check()?;
    }
    if !install(&python, FRAMEWORKS) {
        return Err(format!("pip could not install {}", FRAMEWORKS.join(", ")));
    }
    develop_and_test(&environment)
}

fn develop_and_test(environment: &Path) -> Result<(), String> {
    let package = workspace_root().join("crates/goodput-python");
    let mut develop = Command::new(executable(environment, "maturin"));
    develop.args(["develop", "--quiet"]).env("VIRTUAL_ENV", environment).current_dir(&package);
    run(develop)?;
    let mut pytest = Command::new(executable(environment, "python"));
    pytest.args(["-m", "pytest", "-ra", "-p", "no:cacheprovider"]).current_dir(&package);
    run(pytest)
}

/// Installs what is missing; nothing is asked of the registry when all is there.
fn install(python: &Path, packages: &[&str]) -> bool {
    let pip = |extra: &[&str]| {
        let mut command = Command::new(python);
        command
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(extra)
            .args(packages);
        command
    };
    succeeds(pip(&["--no-index"]).stderr(Stdio::null())) || succeeds(&mut pip(&["--retries", "1"]))
}

fn executable(environment: &Path, name: &str) -> PathBuf {
    let folder = if cfg!(windows) { "Scripts" } else { "bin" };
    environment.join(folder).join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}
