//! Terminal pages: reviewed snapshots, and what no width or name may break.

mod fixture;

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
fn lines_fit_the_width() {
    for width in [80, 100, 140] {
        let style = TerminalStyle { width, color: false };
        let pages = [
            terminal::account(&fixture::account_view(), style),
            terminal::timeline(&fixture::timeline_view(), style),
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
}
