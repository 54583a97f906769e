//! Terminal pages: reviewed snapshots, and what no width or name may break.

mod fixture;
mod generated;

use goodput_report::terminal::{self, TerminalStyle};

#[test]
fn account() {
    insta::assert_snapshot!(terminal::account(&fixture::account_view(), TerminalStyle::default()));
}

#[test]
fn timeline() {
    insta::assert_snapshot!(terminal::timeline(&fixture::timeline_view(), TerminalStyle::default()));
}

#[test]
fn trace() {
    insta::assert_snapshot!(terminal::trace(&generated::trace("straggler"), TerminalStyle::default()));
}

#[test]
fn trace_of_a_pipeline() {
    insta::assert_snapshot!(terminal::trace(&generated::trace("pipeline_1f1b"), TerminalStyle::default()));
}

#[test]
fn lines_fit_the_width() {
    for width in [80, 100, 140] {
        let style = TerminalStyle { width, color: false };
        let pages = [
            terminal::account(&fixture::account_view(), style),
            terminal::timeline(&fixture::timeline_view(), style),
            terminal::trace(&generated::hostile(), style),
            terminal::trace(&generated::without_work(), style),
        ];
        for line in pages.iter().flat_map(|page| page.lines()) {
            assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
        }
    }
}

#[test]
fn colour_only_when_asked() {
    let view = fixture::account_view();
    let page = |color| terminal::account(&view, TerminalStyle { width: 100, color });
    assert!(!page(false).contains('\u{1b}'));
    assert!(page(true).contains("\u{1b}[1m"));
}

#[test]
fn names_cannot_carry_escape_codes() {
    let mut view = fixture::account_view();
    view.jobs[0].name = "\u{1b}[2Jwiped\r\n".to_owned();
    view.title = Some("\u{1b}]0;title\u{7}".to_owned());
    let page = terminal::account(&view, TerminalStyle::default());
    assert!(!page.contains(['\u{1b}', '\u{7}', '\r']));
    let page = terminal::trace(&generated::hostile(), TerminalStyle::default());
    assert!(!page.contains(['\u{1b}', '\u{7}', '\r']));
}

#[test]
fn files_of_one_format_without_a_finding_share_a_row() {
    let mut view = fixture::account_view();
    let plain = goodput_report::FileView {
        path: "logs/1.jsonl".to_owned(),
        format: "goodput-timeline".to_owned(),
        rows: 10,
        used: 10,
        repaired: 0,
        refused: 0,
        skipped: goodput_report::Keyed(Vec::new()),
        counts: goodput_report::Keyed(Vec::new()),
        findings: Vec::new(),
    };
    view.read_report.files = vec![plain.clone(); 90];
    view.read_report.files[7] =
        goodput_report::FileView { refused: 1, used: 9, path: "odd.jsonl".to_owned(), ..plain };
    let page = terminal::account(&view, TerminalStyle::default());
    assert!(page.contains("logs/1.jsonl and 88 more"));
    assert!(page.lines().any(|l| l.contains("logs/1.jsonl and 88 more") && l.contains("890")));
    assert!(page.contains("odd.jsonl"));
}
