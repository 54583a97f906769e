//! The report pages in a real browser: they must draw every chart without loading anything.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{cargo, target_dir};

/// Charts that the demo's page must draw, by the id of their container.
const DEMO: [&str; 8] =
    ["waterfall", "opened", "series-0", "lanes", "levers", "unheld", "waits", "published-mfu"];
/// Charts that the page of a trace must draw.
const TRACE: [&str; 8] =
    ["ranks", "steps", "heat", "heat-wait", "blame", "step-timeline", "communication", "slowdowns"];
/// The generated job that is traced: one rank holds the others up in one step.
const SCENARIO: &str = "straggler";

/// Writes the demo's page and that of a generated trace, and opens them in headless Chromium.
pub fn check() -> Result<(), String> {
    let browser = browser()?;
    cargo(&["build", "--quiet", "--package", "goodput-cli"])?;
    let folder = target_dir().join("page");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;

    let page = folder.join("demo.html");
    goodput(&["demo", "--format", "html", "-o"], &[&page])?;
    drawn_in(&browser, &folder, &page, &DEMO)?;

    let traces = folder.join("traces");
    goodput(&["simulate", "--traces", SCENARIO, "-o"], &[&traces])?;
    let page = folder.join("trace.html");
    goodput(&["trace", "--format", "html", "-o"], &[&page, &traces])?;
    drawn_in(&browser, &folder, &page, &TRACE)
}

/// Runs the built command.
fn goodput(args: &[&str], paths: &[&Path]) -> Result<(), String> {
    let binary = target_dir().join("debug").join(format!("goodput{}", env::consts::EXE_SUFFIX));
    let status = Command::new(binary)
        .args(args)
        .args(paths)
        .status()
        .map_err(|e| format!("goodput {}: {e}", args.join(" ")))?;
    if !status.success() {
        return Err(format!("goodput {} failed ({status})", args.join(" ")));
    }
    Ok(())
}

/// Opens a page: every chart must be drawn, and the console silent.
fn drawn_in(browser: &Path, folder: &Path, page: &Path, charts: &[&str]) -> Result<(), String> {
    let profile = folder.join("profile");
    println!("==> {} {}", browser.display(), page.display());
    let output = Command::new(browser)
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
            // Messages of the page's console go to stderr.
            "--enable-logging=stderr",
            "--v=0",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .map_err(|e| format!("{}: {e}", browser.display()))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if let Some(message) = messages.lines().find(|line| line.contains("CONSOLE")) {
        return Err(format!("the page's console says: {message}"));
    }
    let dom = String::from_utf8_lossy(&output.stdout);
    for id in charts {
        drawn(&dom, id)?;
    }
    println!("    {} charts drawn, nothing on the console", charts.len());
    Ok(())
}

/// Whether the figure of that id holds a drawing with text in it.
fn drawn(dom: &str, id: &str) -> Result<(), String> {
    let (_, rest) = dom
        .split_once(&format!("<figure class=\"chart\" id=\"{id}\">"))
        .ok_or_else(|| format!("the page has no chart {id}"))?;
    let figure = rest.split_once("</figure>").map_or(rest, |(figure, _)| figure);
    let (_, drawing) =
        figure.split_once("<svg class=\"main-svg\"").ok_or_else(|| format!("chart {id} was not drawn"))?;
    let texts = drawing.split("<text").skip(1).filter_map(|text| text.split_once('>'));
    if texts.filter(|(_, content)| !content.starts_with("</text>")).count() == 0 {
        return Err(format!("chart {id} has no text"));
    }
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
    if apt(&["update", "-qq"])
        && apt(&["install", "-y", "-qq", "chromium"])
        && let Some(found) = find()
    {
        return Ok(found);
    }
    Err("chromium is missing and could not be installed: install it (Debian: apt-get install chromium), then run this again".to_owned())
}
