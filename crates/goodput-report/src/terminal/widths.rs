//! How wide each column of a terminal table is: words stay whole while any column can still wrap between words.

use crate::table::{Column, Table};

/// Blanks between two columns.
pub(super) const GAP: usize = 2;

/// A name of one long word (a kernel, a path) may break before numbers wrap, as long as it keeps this much.
const NAME: usize = 20;

/// What one column needs.
struct Needs {
    /// Its longest cell or heading.
    whole: usize,
    /// Narrowest at which no cell wraps, and no word of the heading breaks.
    rows: usize,
    /// Narrowest at which no number wraps and no word breaks.
    cells: usize,
    /// The same, and long names break.
    names: usize,
    /// Narrowest at which no word breaks, but for long names.
    words: usize,
    /// The longest word of its heading.
    heading: usize,
}

/// Columns of the text of each column, for a table of at most `width`; `None` where the headings alone are wider.
///
/// The widest column gives way first: headings of numbers wrap between words, then text does, then long names break, then numbers wrap, and only where
/// that is not enough do other words break. Words of headings never do.
pub(super) fn widths(table: &Table, width: usize) -> Option<Vec<usize>> {
    let needs: Vec<Needs> =
        table.columns.iter().enumerate().map(|(i, column)| needs(table, i, *column)).collect();
    let available = width.checked_sub(GAP * needs.len().saturating_sub(1))?;
    let mut widths: Vec<usize> = needs.iter().map(|of| of.whole).collect();
    let floors: [fn(&Needs) -> usize; 5] =
        [|of| of.rows, |of| of.cells, |of| of.names, |of| of.words, |of| of.heading];
    for floor in floors {
        while widths.iter().sum::<usize>() > available {
            let can_shrink = widths.iter_mut().zip(&needs).filter(|(width, of)| **width > floor(of));
            let Some((widest, _)) = can_shrink.max_by_key(|(width, _)| **width) else { break };
            *widest -= 1;
        }
    }
    (widths.iter().sum::<usize>() <= available).then_some(widths)
}

fn needs(table: &Table, index: usize, column: Column) -> Needs {
    let (Column::Text(name) | Column::Number(name)) = column;
    let cells = || table.rows.iter().filter_map(move |row| row.get(index)).map(|cell| cell.text.as_str());
    let longest = |words: &mut dyn Iterator<Item = &str>| words.map(columns).max().unwrap_or_default();
    let whole_cell = longest(&mut cells());
    let heading = longest(&mut name.split(' '));
    let words = heading.max(longest(&mut cells().flat_map(|cell| cell.split(' '))));
    let broken = words.min(NAME.max(heading));
    let whole = whole_cell.max(columns(name));
    match column {
        Column::Number(_) => {
            let cells = words.max(whole_cell);
            Needs { whole, rows: cells, cells, names: cells, words, heading }
        }
        Column::Text(_) => Needs {
            whole,
            rows: whole_cell.max(heading),
            cells: words,
            names: broken,
            words: broken,
            heading,
        },
    }
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column::{Number, Text};

    fn table(columns: Vec<Column>, rows: &[&[&str]]) -> Table {
        let rows = rows.iter().map(|row| row.iter().map(|cell| (*cell).into()).collect()).collect();
        Table { columns, rows, notes: Vec::new() }
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let table = table(vec![Text("loss"), Number("device-hours")], &[&["cold start", "1.5"]]);
        assert_eq!(widths(&table, 24), Some(vec![10, 12]));
    }

    #[test]
    fn headings_wrap_before_rows_do() {
        let columns = vec![Text("loss"), Number("held, device-hours")];
        let table = table(columns, &[&["ready without work", "1.5"]]);
        assert_eq!(widths(&table, 32), Some(vec![18, 12]));
        assert_eq!(widths(&table, 28), Some(vec![14, 12]));
    }

    #[test]
    fn text_wraps_before_numbers_and_numbers_before_words_break() {
        let columns = vec![Text("loss"), Number("time")];
        let table = table(columns, &[&["ready without any work", "1 d 23 h"]]);
        assert_eq!(widths(&table, 20), Some(vec![10, 8]));
        // The longest word is `without`: then the number wraps.
        assert_eq!(widths(&table, 14), Some(vec![7, 5]));
        assert_eq!(widths(&table, 10), Some(vec![4, 4]));
        assert_eq!(widths(&table, 9), None);
    }

    #[test]
    fn a_long_name_breaks_before_numbers_wrap() {
        let name = "void_kernel_of_a_library_with_a_long_name";
        let table = table(vec![Text("kernel"), Number("time")], &[&[name, "1 d 23 h"]]);
        assert_eq!(widths(&table, 40), Some(vec![30, 8]));
        assert_eq!(widths(&table, 29), Some(vec![20, 7]));
    }
}
