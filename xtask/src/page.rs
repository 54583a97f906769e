//! The report page in a real browser: it must draw every chart without loading anything.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::{cargo, target_dir};

/// Charts that the demo's page must draw.
const CHARTS: usize = 5;

/// Writes the demo's page and opens it in headless Chromium.
pub fn check() -> Result<(), String> {
    let browser = browser()?;
    cargo(&["build", "--quiet", "--package", "goodput-cli"])?;
    let folder = target_dir().join("page");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let page = folder.join("demo.html");
    let status = Command::new(target_dir().join("debug").join(format!("goodput{}", env::consts::EXE_SUFFIX)))
        .args(["demo", "--format", "html", "-o"])
        .arg(&page)
        .status()
        .map_err(|e| format!("goodput demo: {e}"))?;
    if !status.success() {
        return Err(format!("goodput demo --format html failed ({status})"));
    }
    let profile = folder.join("profile");
    println!("==> {} {}", browser.display(), page.display());
    let output = Command::new(&browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--virtual-time-budget=20000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .map_err(|e| format!("{}: {e}", browser.display()))?;
    let dom = String::from_utf8_lossy(&output.stdout);
    let drawn = dom.matches("class=\"main-svg\"").count();
    if drawn < CHARTS {
        return Err(format!("the page drew {drawn} chart layers, expected at least {CHARTS}"));
    }
    println!("    {drawn} chart layers drawn");
    Ok(())
}

/// A Chromium on the path; installed from Debian's packages where that is possible.
fn browser() -> Result<PathBuf, String> {
    let find = || {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path)
            .flat_map(|dir| ["chromium", "chromium-browser", "google-chrome"].map(|name| dir.join(name)))
            .find(|candidate| candidate.is_file())
    };
    if let Some(found) = find() {
        return Ok(found);
    }
    let apt = |args: &[&str]| Command::new("apt-get").args(args).status().is_ok_and(|s| s.success());
    if apt(&["update", "-qq"]) && apt(&["install", "-y", "-qq", "chromium"]) {
        if let Some(found) = find() {
            return Ok(found);
        }
    }
    Err("chromium is missing and could not be installed: install it (Debian: apt-get install chromium), then run this again".to_owned())
}
