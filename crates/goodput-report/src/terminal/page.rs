//! What terminal pages are made of: headings, wrapped lines, tables that fit the width.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle, Width};

use super::widths::{GAP, widths};
use crate::name::printable;
use crate::table::{Column, Table};

/// How a terminal page is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalStyle {
    /// Columns.
    pub width: u16,
    /// Whether to emit colour codes.
    pub color: bool,
}

impl Default for TerminalStyle {
    fn default() -> Self {
        Self { width: 100, color: false }
    }
}

const HEADING: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// Narrower than this no table stays legible; the terminal wraps instead.
const NARROWEST: u16 = 60;

/// A page under construction.
pub(super) struct Page {
    out: String,
    style: TerminalStyle,
}

impl Page {
    pub(super) fn new(style: TerminalStyle) -> Self {
        Self { out: String::new(), style: TerminalStyle { width: style.width.max(NARROWEST), ..style } }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn heading(&mut self, text: &str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.wrapped(text, HEADING, "");
    }

    pub(super) fn line(&mut self, text: &str) {
        self.wrapped(text, Style::new(), "");
    }

    /// A line beside the figures: how to read them, what they leave out.
    pub(super) fn note(&mut self, text: &str) {
        self.wrapped(text, QUIET, "");
    }

    pub(super) fn warning(&mut self, text: &str) {
        self.wrapped(text, WARNING, "  ");
    }

    fn wrapped(&mut self, text: &str, style: Style, hang: &str) {
        let text = printable(text);
        let mut line = String::new();
        let mut columns = 0;
        let width = usize::from(self.style.width);
        for word in text.split(' ') {
            let word_columns = word.chars().count();
            if columns > 0 && columns + 1 + word_columns > width {
                self.push_line(&line, style);
                line = hang.to_owned();
                columns = hang.len();
            } else if !line.is_empty() {
                line.push(' ');
                columns += 1;
            }
            line.push_str(word);
            columns += word_columns;
        }
        self.push_line(&line, style);
    }

    fn push_line(&mut self, line: &str, style: Style) {
        let line = line.trim_end();
        // Writing to a string cannot fail.
        let _ = if self.style.color && !line.is_empty() {
            writeln!(self.out, "{style}{line}{style:#}")
        } else {
            writeln!(self.out, "{line}")
        };
    }

    pub(super) fn table(&mut self, table: &Table) {
        if table.rows.is_empty() {
            self.line("none");
            return;
        }
        let header = table.columns.iter().map(|(Column::Text(name) | Column::Number(name))| Cell::new(name));
        let mut drawn = comfy_table::Table::new();
        drawn
            .load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')))
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(self.style.width)
            .set_header(header);
        for row in &table.rows {
            drawn.add_row(row.iter().map(|cell| Cell::new_owned(printable(&cell.text))));
        }
        let widths = widths(table, self.style.width.into());
        for (i, (drawn, column)) in drawn.column_iter_mut().zip(&table.columns).enumerate() {
            // The blank that comfy-table sets where a line between columns would stand is the last one of the gap.
            let padding = if i + 1 < table.columns.len() { GAP as u16 - 1 } else { 0 };
            drawn.set_padding((0, padding));
            if let Some(width) = widths.as_ref().and_then(|widths| u16::try_from(widths[i]).ok()) {
                drawn.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width + padding)));
            }
            if matches!(column, Column::Number(_)) {
                drawn.set_cell_alignment(CellAlignment::Right);
            }
        }
        let mut style = QUIET;
        for line in drawn.lines() {
            self.push_line(&line, style);
            if line.starts_with('─') {
                style = Style::new();
            }
        }
        for note in &table.notes {
            self.note(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column::{Number, Text};

    #[test]
    fn words_of_headings_stay_whole_and_lines_fit() {
        let columns = vec![
            Text("pool"),
            Number("held / offered"),
            Number("preemptions a day that even it out"),
            Number("no whole node for who waits"),
            Number("scattered in all"),
            Text("what happened"),
        ];
        let cells = ["serving", "0.371", "509", "1 d 23 h", "54.7", "more in time and cost than another one"];
        let table = Table { columns, rows: vec![cells.map(Into::into).to_vec()], notes: Vec::new() };
        let mut names: Vec<&str> =
            table.columns.iter().flat_map(|(Text(name) | Number(name))| name.split(' ')).collect();
        names.sort_unstable();
        for width in 60..140 {
            let mut page = Page::new(TerminalStyle { width, color: false });
            page.table(&table);
            let page = page.finish();
            assert!(page.lines().all(|line| line.chars().count() <= width.into()), "{width}: {page}");
            let mut shown: Vec<&str> =
                page.split('─').next().unwrap_or_default().split_whitespace().collect();
            shown.sort_unstable();
            assert_eq!(shown, names, "{width}: {page}");
        }
    }
}
