//! Markdown for pull requests and job summaries.

use std::fmt::Write;

use crate::name::printable;
use crate::view::LintView;
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

/// Names from other people's files cannot open tags, cells or markup.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in printable(text).chars() {
        if matches!(c, '|' | '<' | '>' | '`' | '*' | '_' | '[' | ']' | '\\' | '#') {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(plain("a|b <c> _d_"), "a\\|b \\<c\\> \\_d\\_");
    }
}
