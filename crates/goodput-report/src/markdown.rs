//! Markdown for pull requests and job summaries.

use std::fmt::Write;

use crate::name::printable;
use crate::table::{self, Column, Detail, Table};
use crate::view::{BaselineView, LintView};
use crate::words;

/// Findings as a table, and why each is a mistake.
pub fn lint(view: &LintView) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "## {}\n\n{}", plain(&words::lint_title(view)), plain(&words::lint_answer(view)));
    if !view.findings.is_empty() {
        let _ = writeln!(out, "\n| severity | check | where | evidence | corrected |\n|-|-|-|-|-|");
    }
    for finding in &view.findings {
        let corrected: Vec<String> = finding.corrected.iter().map(|c| plain(&words::corrected(c))).collect();
        let evidence: Vec<String> = finding.evidence.iter().map(|e| plain(e)).collect();
        let _ = writeln!(
            out,
            "| {} | `{}` | {} | {} | {} |",
            finding.severity,
            finding.check,
            plain(&finding.at),
            evidence.join("<br>"),
            corrected.join("<br>")
        );
    }
    let mut explained = Vec::new();
    for finding in &view.findings {
        if !explained.contains(&finding.check) {
            explained.push(finding.check);
            let _ = writeln!(out, "\n**{}** (`{}`). {}", finding.title, finding.check, finding.why);
        }
    }
    out
}

/// A baseline check as Markdown.
#[must_use]
pub fn baseline(view: &BaselineView) -> String {
    let mut out = String::new();
    let mark = match view.verdict {
        "regressed" => "❌",
        "no_regression" => "✅",
        _ => "⚪",
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "## {mark} {}\n\n{}\n",
        words::baseline_title(view),
        plain(&words::baseline_scope(view))
    );
    table(&mut out, &table::baseline_tiers(view));
    let mut section = |title: &str, shown: Table| {
        if !shown.rows.is_empty() {
            let _ = writeln!(out, "### {}\n", plain(title));
            table(&mut out, &shown);
        }
    };
    section("Changes over time", table::baseline_changes(view, Detail::Brief));
    section("Hosts slower than their peers", table::slow_hosts(view, Detail::Brief));
    for curve in &view.curves {
        section(&format!("Canary {}", curve.job), table::curve(curve));
    }
    section(
        "Runs off the baseline of their architecture and software",
        table::departures(view, Detail::Brief),
    );
    if !view.causes.is_empty() {
        let _ = writeln!(out, "### Releases and policies that changed at those times\n");
        for one in view.causes.iter().take(10) {
            let _ = writeln!(out, "- {}", plain(&words::coincidence(one)));
        }
        out.push('\n');
    }
    let mut notes = vec![words::baseline_method(view)];
    notes.extend(words::baseline_not_tested(view));
    notes.extend(words::baseline_refused(view));
    let _ = writeln!(out, "<details><summary>How to read this, and what was not tested</summary>\n");
    for note in notes {
        let _ = writeln!(out, "- {}", plain(&note));
    }
    let _ = writeln!(out, "\n</details>\n\n<sub>{}</sub>", plain(&view.generated_by));
    out
}

fn table(out: &mut String, table: &Table) {
    let row = |out: &mut String, cells: Vec<String>| {
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    };
    row(
        out,
        table.columns.iter().map(|(Column::Text(name) | Column::Number(name))| (*name).to_owned()).collect(),
    );
    let rule = |column: &Column| if matches!(column, Column::Number(_)) { "---:" } else { "---" }.to_owned();
    row(out, table.columns.iter().map(rule).collect());
    for cells in &table.rows {
        row(out, cells.iter().map(|cell| plain(&cell.text)).collect());
    }
    out.push('\n');
    for note in &table.notes {
        let _ = writeln!(out, "{}\n", plain(note));
    }
}

/// Names from other people's files cannot open tags, cells or markup, nor call anybody.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in printable(text).chars() {
        if matches!(c, '|' | '<' | '>' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '~') {
            plain.push('\\');
        }
        match c {
            '@' => plain.push_str("&#64;"),
            '&' => plain.push_str("&amp;"),
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(plain("a|b <c> _d_"), "a\\|b \\<c\\> \\_d\\_");
        assert_eq!(plain("@team &lt;"), "&#64;team &amp;lt;");
    }
}
