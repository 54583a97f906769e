//! The arguments that Megatron-LM prints before it trains: `  tensor_model_parallel_size ...................... 8`.

use std::collections::BTreeMap;
use std::io::{BufReader, Read};

use crate::ReadError;
use crate::gzip::inflated;
use crate::lines::Lines;

/// Lines looked at: the arguments stand before the first step.
const MOST_LINES: u32 = 20_000;

/// The arguments in a log; none where it prints none. Where an argument is printed twice, by two starts of a job, the last counts.
///
/// # Errors
/// [`ReadError::Io`] when the log cannot be read.
pub fn megatron_arguments(label: &str, source: impl Read) -> Result<BTreeMap<String, String>, ReadError> {
    let io = |source| ReadError::Io { path: label.to_owned(), source };
    let mut input = inflated(BufReader::new(source)).map_err(io)?;
    let mut lines = Lines::new(&mut *input, label);
    let mut arguments = BTreeMap::new();
    while let Some(line) = lines.next()? {
        if line.number > MOST_LINES {
            break;
        }
        if let Some((name, value)) = line.text.ok().and_then(argument) {
            arguments.insert(name.to_owned(), value.to_owned());
        }
    }
    Ok(arguments)
}

/// A name, a row of at least three dots, a value. Launchers put `[default0]:` or `0: ` before it.
fn argument(line: &str) -> Option<(&str, &str)> {
    let dots = line.find(" ...")?;
    let name = line[..dots].rsplit([' ', ':', '\t']).next()?;
    let value = line[dots..].trim_start_matches([' ', '.']).trim_end();
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    // `loading shards ... done` is no argument: nothing but a launcher's mark stands before a name.
    let before = line[..dots - name.len()].trim_end();
    let is_mark = before.is_empty() || before.ends_with(':');
    (is_name && is_mark && !value.is_empty()).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_told_from_sentences() {
        let log = "using world size: 8, data-parallel-size: 2\n\
                   ------------------------ arguments ------------------------\n  \
                   tensor_model_parallel_size ...................... 4\n\
                   [default0]:  recompute_granularity ........................... None\n\
                   0:   fp8 ............................................. hybrid\n\
                   loading shards ... done\n > building dataset ...\n";
        let found = megatron_arguments("log", log.as_bytes()).unwrap();
        let expected =
            [("fp8", "hybrid"), ("recompute_granularity", "None"), ("tensor_model_parallel_size", "4")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }
}
