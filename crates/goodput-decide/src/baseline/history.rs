//! HISTORY.jsonl: read with every line accounted for, and added to without a report counting twice.

use std::collections::BTreeMap;
use std::io::Read;

use rayon::prelude::*;
use serde_json::Value;

use super::row::Row;
use crate::serde_words::in_words;

/// Bytes that are read at a time; a longer line makes the block grow.
const BLOCK_BYTES: usize = 16 << 20;

/// The rows of a history, by subject and time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// Rows that hold.
    pub rows: Vec<Row>,
    /// Lines that do not.
    pub refused: Vec<RefusedLine>,
    /// Lines that are not blank.
    pub lines: u64,
}

/// A line that is no row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedLine {
    /// One-based.
    pub line: u64,
    /// Why.
    pub why: String,
}

/// What became of rows that were to be added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Added {
    /// Lines to append, each with its line break.
    pub text: String,
    /// Rows in it.
    pub rows: u64,
    /// Rows that the history already has.
    pub known: u64,
    /// Rows that cannot stand beside those it has.
    pub refused: Vec<String>,
}

impl History {
    /// Reads a history from its file, a block at a time: a year of a fleet is hundreds of megabytes of text.
    ///
    /// # Errors
    /// That of `source`.
    pub fn read(source: impl Read) -> std::io::Result<Self> {
        Self::read_by(BLOCK_BYTES, source)
    }

    fn read_by(block_bytes: usize, mut source: impl Read) -> std::io::Result<Self> {
        let mut history = Self::default();
        let mut rows: Vec<(u64, Option<Row>)> = Vec::new();
        let mut block = Vec::new();
        let mut first_line = 1;
        loop {
            let wanted = block_bytes.max(2 * block.len()) - block.len();
            let ended = source.by_ref().take(wanted as u64).read_to_end(&mut block)? < wanted;
            let whole =
                if ended { block.len() } else { memchr::memrchr(b'\n', &block).map_or(0, |at| at + 1) };
            let mut line = first_line;
            let mut lines = Vec::new();
            for text in split_lines(&block[..whole]) {
                if !text.iter().all(u8::is_ascii_whitespace) {
                    lines.push((line, text));
                }
                line += 1;
            }
            first_line = line;
            history.lines += lines.len() as u64;
            let parsed: Vec<_> = lines.par_iter().map(|(_, text)| parse(text)).collect();
            for ((line, _), parsed) in lines.iter().zip(parsed) {
                match parsed {
                    Ok(row) => rows.push((*line, Some(row))),
                    Err(why) => history.refused.push(RefusedLine { line: *line, why }),
                }
            }
            block.drain(..whole);
            if ended {
                break;
            }
        }
        // Days may stand in any order in the file. Rows are large: their places are sorted.
        let mut order: Vec<usize> = (0..rows.len()).collect();
        let key = |place: usize| rows[place].1.as_ref().map(|row| (row.subject(), row.from_ns, row.to_ns));
        order.par_sort_by(|a, b| key(*a).cmp(&key(*b)));
        history.rows.reserve_exact(rows.len());
        for place in order {
            let (line, Some(row)) = (rows[place].0, rows[place].1.take()) else { continue };
            match history.rows.last().filter(|last| overlap(last, &row)) {
                Some(last) => history.refused.push(RefusedLine { line, why: overlapping(last, &row) }),
                None => history.rows.push(row),
            }
        }
        history.refused.sort_by_key(|refused| refused.line);
        Ok(history)
    }

    /// The lines that add `rows`, those left out that the history already has, or that overlap another window of their subject.
    #[must_use]
    pub fn add(&self, rows: Vec<Row>) -> Added {
        let mut windows: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
        self.rows.iter().for_each(|row| windows.entry(row.subject()).or_default().push(row));
        let mut added = Added::default();
        let mut fresh: Vec<Row> = Vec::new();
        for row in rows {
            if let Some((field, found, expected)) = row.impossible() {
                added.refused.push(format!("{}: {field} is {found}, expected {expected}", name(&row)));
                continue;
            }
            let earlier = windows.get(&row.subject()).into_iter().flatten().copied();
            let clash = earlier.chain(&fresh).find(|other| overlap(other, &row));
            match clash {
                Some(other)
                    if (other.from_ns, other.to_ns) == (row.from_ns, row.to_ns) && same(other, &row) =>
                {
                    added.known += 1;
                }
                Some(other) => added.refused.push(overlapping(other, &row)),
                None => match serde_json::to_string(&row) {
                    Ok(line) => {
                        added.text.push_str(&line);
                        added.text.push('\n');
                        added.rows += 1;
                        fresh.push(row);
                    }
                    Err(error) => added.refused.push(format!("{}: {error}", name(&row))),
                },
            }
        }
        added
    }
}

/// The lines of `text` without their ends; what follows the last end is a line if there is anything.
fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    let unended = !text.is_empty() && !text.ends_with(b"\n");
    let ends = memchr::memchr_iter(b'\n', text).chain(unended.then_some(text.len()));
    ends.map(move |end| &text[std::mem::replace(&mut start, end + 1)..end])
}

fn parse(text: &[u8]) -> Result<Row, String> {
    let row: Row = match serde_json::from_slice(text) {
        Ok(row) => row,
        Err(error) if error.is_eof() => {
            return Err(format!("torn: it ends in the middle of a value, at column {}", error.column()));
        }
        // Which file it is says more than which of its keys is missing.
        Err(error) => return Err(other_schema(text).unwrap_or_else(|| in_words(&error.to_string()))),
    };
    if *row.schema != *Row::SCHEMA {
        return Err(format!("its `schema` is {:?}, expected {:?}", &*row.schema, Row::SCHEMA));
    }
    match row.impossible() {
        Some((field, found, expected)) => Err(format!("{field} is {found}, expected {expected}")),
        None => Ok(row),
    }
}

/// A line of some other file.
fn other_schema(text: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(text).ok()?;
    match value.get("schema").map(Value::to_string) {
        Some(schema) if schema != format!("{:?}", Row::SCHEMA) => {
            Some(format!("its `schema` is {schema}, expected {:?}", Row::SCHEMA))
        }
        Some(_) => None,
        None => Some(format!("it has no `schema`, expected {:?}", Row::SCHEMA)),
    }
}

/// Whether two windows of one subject have a moment in common.
fn overlap(one: &Row, other: &Row) -> bool {
    one.subject() == other.subject() && one.from_ns < other.to_ns && other.from_ns < one.to_ns
}

/// Whether they came from the same report, or say the same.
fn same(one: &Row, other: &Row) -> bool {
    one.report == other.report || Row { report: other.report.clone(), ..one.clone() } == *other
}

fn name(row: &Row) -> String {
    let name = row.job.as_deref().or(row.pool.as_deref()).unwrap_or("?");
    format!("{:?} {name}", row.kind).to_lowercase()
}

fn overlapping(earlier: &Row, row: &Row) -> String {
    format!(
        "{}: its window of {} overlaps one of {} that came before; a day counts once",
        name(row),
        row.day,
        earlier.day
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::label::Versions;
    use crate::baseline::row::{FactorFigures, Kind};

    const DAY_NS: i64 = 86_400_000_000_000;

    fn row(job: &str, day: i64) -> Row {
        Row {
            schema: Row::SCHEMA.into(),
            kind: Kind::Job,
            day: format!("day {day}").into(),
            from_ns: day * DAY_NS,
            to_ns: (day + 1) * DAY_NS,
            job: Some(job.into()),
            pool: None,
            model: None,
            policy: None,
            devices: 8,
            software: Versions::default(),
            program: None,
            steps: None,
            slowest: None,
            events: None,
            allocation: None,
            factors: FactorFigures::default(),
            contract: "".into(),
            report: format!("{job}-{day}"),
        }
    }

    #[test]
    fn a_report_counts_once() {
        let first = History::default().add(vec![row("a", 1), row("a", 0), row("b", 0)]);
        assert_eq!((first.rows, first.known), (3, 0));
        let history = History::read(first.text.as_bytes()).unwrap();
        assert_eq!(history.rows, [row("a", 0), row("a", 1), row("b", 0)]);
        let again = history.add(vec![row("a", 1), row("a", 2)]);
        assert_eq!((again.rows, again.known, again.refused.len()), (1, 1, 0));
        // The same day with other figures is neither added nor dropped without a word.
        let other = Row { devices: 16, report: "other".to_owned(), ..row("a", 1) };
        let refused = history.add(vec![other]).refused;
        assert!(refused[0].starts_with("job a: its window of day 1 overlaps"), "{refused:?}");
    }

    #[test]
    fn every_line_is_accounted_for() {
        let good = serde_json::to_string(&row("a", 0)).unwrap();
        let other = good.replace(Row::SCHEMA, "goodput.account/1");
        let twice = good.replace("\"devices\":8", "\"devices\":9");
        let reversed = good.replace("\"to_ns\":86400000000000", "\"to_ns\":0");
        let torn = &good[..good.len() / 2];
        let nan = good.replace("\"devices\":8", "\"devices\":NaN");
        let text = [&good, &other, "", &twice, &reversed, &nan, torn].join("\n");
        let history = History::read(text.as_bytes()).unwrap();
        for block_bytes in 1..2 * text.len() {
            assert_eq!(History::read_by(block_bytes, text.as_bytes()).unwrap(), history);
        }
        assert_eq!((history.rows.len(), history.lines), (1, 6));
        let lines: Vec<u64> = history.refused.iter().map(|refused| refused.line).collect();
        assert_eq!(lines, [2, 4, 5, 6, 7]);
        let why: Vec<&str> = history.refused.iter().map(|refused| refused.why.as_str()).collect();
        assert!(why[0].contains("expected \"goodput.baseline-row/1\""), "{why:?}");
        assert!(why[1].contains("overlaps"), "{why:?}");
        assert_eq!(why[2], "to_ns is 0, expected after from_ns");
        assert!(why[4].starts_with("torn"), "{why:?}");
    }
}
