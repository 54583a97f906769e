//! Puts a row with too many fields right.
//!
//! Slurm does not escape its delimiter, so a job name, comment or command line that holds it shifts
//! every later column. Only free text can hold it: each other column is one field of known shape.
//! Of all ways to hand the fields to the columns that respect this, every one must give the columns
//! of the accounting the same text; otherwise the row is ambiguous and is refused.

use super::columns::{Columns, Shape};

/// Where a column's text begins and ends in its row.
pub(super) type Bounds = (usize, usize);

/// More surplus fields than this are no stray delimiters.
const MAX_SURPLUS: usize = 256;

/// Why no single reading exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misaligned {
    /// No reading fits the shapes of the columns.
    NoReading,
    /// Readings differ in this column.
    Ambiguous { column: usize },
}

/// Joins `fields` (at least as many as there are columns) so that there is one for every column.
///
/// `lists_hold_delimiter`: the delimiter is a comma, so resource and node lists hold it too.
pub(super) fn align(
    row: &str,
    fields: &[Bounds],
    columns: &Columns,
    lists_hold_delimiter: bool,
) -> Result<Vec<Bounds>, Misaligned> {
    let count = columns.len();
    let surplus =
        fields.len().checked_sub(count).filter(|&s| s <= MAX_SURPLUS).ok_or(Misaligned::NoReading)?;
    let readings = Readings { row, fields, columns, surplus, lists_hold_delimiter };

    // before[c][s]: the columns before c can take the first c + s fields. after[c][s]: column c and
    // the later ones can take the rest.
    let width = surplus + 1;
    let mut before = vec![false; (count + 1) * width];
    let mut after = vec![false; (count + 1) * width];
    before[0] = true;
    after[count * width + surplus] = true;
    for column in 0..count {
        for taken in (0..width).filter(|taken| before[column * width + taken]).collect::<Vec<_>>() {
            for next in readings.ends(column, taken) {
                before[(column + 1) * width + next] = true;
            }
        }
    }
    for column in (0..count).rev() {
        for taken in 0..width {
            after[column * width + taken] =
                readings.ends(column, taken).any(|next| after[(column + 1) * width + next]);
        }
    }
    if !before[count * width + surplus] {
        return Err(Misaligned::NoReading);
    }

    let mut aligned = Vec::with_capacity(count);
    for column in 0..count {
        let mut choices = (0..width)
            .filter(|&taken| before[column * width + taken])
            .flat_map(|taken| readings.ends(column, taken).map(move |next| (taken, next)))
            .filter(|&(_, next)| after[(column + 1) * width + next])
            .map(|(taken, next)| (fields[column + taken].0, fields[column + next].1));
        let mut chosen = choices.next().ok_or(Misaligned::NoReading)?;
        for other in choices {
            if columns.is_needed(column) && row.get(chosen.0..chosen.1) != row.get(other.0..other.1) {
                return Err(Misaligned::Ambiguous { column });
            }
            if other.1 - other.0 > chosen.1 - chosen.0 {
                chosen = other;
            }
        }
        aligned.push(chosen);
    }
    Ok(aligned)
}

struct Readings<'a> {
    row: &'a str,
    fields: &'a [Bounds],
    columns: &'a Columns,
    surplus: usize,
    lists_hold_delimiter: bool,
}

impl Readings<'_> {
    /// With `taken` surplus fields used by the columns before: how many may be used after this one.
    fn ends(&self, column: usize, taken: usize) -> impl Iterator<Item = usize> {
        let shape = self.columns.shapes[column];
        let holds_delimiter = match shape {
            Shape::Free => true,
            Shape::Tres | Shape::NodeList | Shape::Word => self.lists_hold_delimiter,
            _ => false,
        };
        let last = if holds_delimiter { self.surplus } else { taken };
        (taken..=last).filter(move |&next| {
            let (start, end) = (self.fields[column + taken].0, self.fields[column + next].1);
            shape == Shape::Free || self.row.get(start..end).is_some_and(|text| shape.matches(text))
        })
    }
}

/// Whether the fields of a row's beginning fit the first columns. The last field may be cut and is
/// not looked at; a beginning without a whole field proves nothing.
pub(super) fn begins_a_row(row: &str, fields: &[Bounds], columns: &Columns) -> bool {
    let Some((_, whole)) = fields.split_last() else {
        return false;
    };
    let shaped = columns.shapes.iter().take_while(|&&shape| shape != Shape::Free);
    !whole.is_empty()
        && whole
            .iter()
            .zip(shaped)
            .all(|(&(start, end), shape)| row.get(start..end).is_some_and(|text| shape.matches(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(row: &str) -> Vec<Bounds> {
        let mut start = 0;
        row.split('|')
            .map(|field| {
                let bounds = (start, start + field.len());
                start = bounds.1 + 1;
                bounds
            })
            .collect()
    }

    fn aligned(columns: &[&str], row: &str) -> Result<Vec<String>, Misaligned> {
        let columns = Columns::new(columns.iter().copied());
        let bounds = align(row, &fields(row), &columns, false)?;
        Ok(bounds.into_iter().map(|(start, end)| row[start..end].to_owned()).collect())
    }

    #[test]
    fn stray_delimiters_go_to_the_free_text_that_anchors_leave() {
        let row = "11|a|b `q`|bob|COMPLETED|0:0|/out|x|1001|sbatch -J a|b";
        let columns = ["JobID", "JobName", "User", "State", "ExitCode", "WorkDir", "UID", "SubmitLine"];
        let expected = ["11", "a|b `q`", "bob", "COMPLETED", "0:0", "/out|x", "1001", "sbatch -J a|b"];
        assert_eq!(aligned(&columns, row).unwrap(), expected);
    }

    #[test]
    fn a_row_that_reads_in_two_ways_is_refused() {
        let row = "1|a|b|c|COMPLETED";
        assert_eq!(
            aligned(&["JobID", "JobName", "User", "State"], row).unwrap(),
            ["1", "a|b", "c", "COMPLETED"]
        );
        assert_eq!(
            aligned(&["JobID", "JobName", "User", "Comment"], row),
            Err(Misaligned::Ambiguous { column: 2 })
        );
        assert_eq!(aligned(&["JobID", "User", "State"], row), Err(Misaligned::NoReading));
    }
}
