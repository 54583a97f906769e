//! What a file is, told from its content, so that a verb that cannot read it says what was found, what it reads, and
//! which verb reads the file instead.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use goodput_records::timeline::Format;
use serde_json::Value;

use crate::error::{Place, VerbError};

/// What a verb reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// In words: `a report of account or timeline`.
    pub what: &'static str,
    /// Where a person finds out how such a file comes about.
    pub help: &'static str,
    /// Whether a file that was recognised is one.
    pub is: fn(&FileKind) -> bool,
}

/// What a file seems to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Nothing but blanks.
    Empty,
    /// No text.
    Binary(&'static str),
    /// Written by a verb with `--format json`: the schema.
    Written(String),
    /// One line of `goodput baseline update` after another.
    History,
    /// A job's own log: the format.
    Log(&'static str),
    /// A log of inference replicas.
    ServingLog,
    /// JSON that lists something.
    JsonList,
    /// Some other JSON object.
    JsonObject,
    /// One JSON object a line.
    JsonLines,
    /// A trace of Chrome's or Kineto's kind.
    Trace,
    /// Questions of a plan.
    Plan,
    /// A planning sheet.
    Sheet,
    /// Conditions of a measurement.
    Contract,
    /// A training run.
    Run,
    /// Records of a fleet, by name.
    Fleet,
    /// A fleet to simulate.
    Scenario,
    /// YAML that lists something.
    YamlList,
    /// YAML of other keys.
    YamlKeys(Vec<String>),
}

impl FileKind {
    /// What the bytes are; `None` for text of no kind that a verb reads.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => text.trim_start(),
            _ => return Some(Self::Binary(binary(bytes))),
        };
        match text.chars().next() {
            None => Some(Self::Empty),
            Some('{' | '[') => {
                Self::of_json(text).or_else(|| Format::of(bytes).map(|log| Self::Log(log.name)))
            }
            _ => Format::of(bytes).map(|log| Self::Log(log.name)).or_else(|| Self::of_yaml(text)),
        }
    }

    fn of_json(text: &str) -> Option<Self> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let first = values.next()?.ok()?;
        if let Some(log) = Format::of(text.as_bytes()) {
            return Some(Self::Log(log.name));
        }
        if first.get("goodput_serving").is_some() {
            return Some(Self::ServingLog);
        }
        match (&first, first.get("schema").and_then(Value::as_str)) {
            (_, Some("goodput.baseline-row/1")) => Some(Self::History),
            (_, Some(schema)) => Some(Self::Written(schema.to_owned())),
            (Value::Array(_), _) => Some(Self::JsonList),
            (keys, _) if keys.get("traceEvents").is_some() => Some(Self::Trace),
            (_, _) if values.next().is_some() => Some(Self::JsonLines),
            (keys, _) => Self::of_keys(keys).or(Some(Self::JsonObject)),
        }
    }

    fn of_yaml(text: &str) -> Option<Self> {
        match serde_saphyr::from_str::<Value>(text).ok()? {
            Value::Array(_) => Some(Self::YamlList),
            keys @ Value::Object(_) => Self::of_keys(&keys)
                .or_else(|| Some(Self::YamlKeys(keys.as_object()?.keys().take(4).cloned().collect()))),
            _ => None,
        }
    }

    fn of_keys(keys: &Value) -> Option<Self> {
        let has = |names: &[&str]| names.iter().any(|name| keys.get(name).is_some());
        let all = |names: &[&str]| names.iter().all(|name| keys.get(name).is_some());
        Some(match () {
            () if has(&["questions"]) => Self::Plan,
            () if has(&["figures", "budget", "losses", "wholes", "formula", "claims"]) => Self::Sheet,
            () if all(&["model", "layout"]) => Self::Run,
            () if has(&["records", "timelines"]) => Self::Fleet,
            () if all(&["pools", "jobs"]) => Self::Scenario,
            () if has(&["workload", "quality", "system", "timing", "statistics"]) => Self::Contract,
            () => return None,
        })
    }

    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Empty => "nothing: the file is empty".to_owned(),
            Self::Binary(what) => (*what).to_owned(),
            Self::Written(schema) => match verb(schema) {
                Some(verb) => format!("a report of {verb} (its `schema` is {schema:?})"),
                None => format!("JSON whose `schema` is {schema:?}"),
            },
            Self::History => "a history of reports, one row a line".to_owned(),
            Self::Log(format) => format!("a job's log ({format})"),
            Self::ServingLog => "a log of inference replicas".to_owned(),
            Self::JsonList => "a JSON array".to_owned(),
            Self::JsonObject => "a JSON object without a `schema` of goodput".to_owned(),
            Self::JsonLines => "one JSON object after another".to_owned(),
            Self::Trace => "a step trace".to_owned(),
            Self::Plan => "a plan (it has `questions`)".to_owned(),
            Self::Sheet => "a planning sheet".to_owned(),
            Self::Contract => "a measurement contract".to_owned(),
            Self::Run => "a training run (it has `model` and `layout`)".to_owned(),
            Self::Fleet => "a fleet's records by name".to_owned(),
            Self::Scenario => "a fleet to simulate".to_owned(),
            Self::YamlList => "a YAML list".to_owned(),
            Self::YamlKeys(keys) => format!("YAML with the keys {}", keys.join(", ")),
        }
    }

    /// The command that reads it.
    pub fn reader(&self, file: &str) -> Option<String> {
        let of = |command: &str| Some(format!("`goodput {command}` reads this file"));
        match self {
            Self::Log(_) => Some(format!(
                "`goodput timeline {file}` reads this file, and with `--format json -o REPORT.json` makes a report of it"
            )),
            Self::ServingLog => of(&format!("serving {file}")),
            Self::History => of(&format!("baseline check {file}")),
            Self::Written(schema) if matches!(verb(schema), Some("account" | "timeline")) => of(&format!(
                "lint {file}`, `goodput compare {file} AFTER.json` or `goodput baseline update HISTORY.jsonl {file}"
            )),
            serving if is_serving_report(serving) => of(&format!("compare {file} AFTER.json")),
            Self::Trace => of(&format!("trace {file}")),
            Self::Plan => of(&format!("plan {file}")),
            Self::Sheet => of(&format!("lint {file}")),
            Self::Run => of(&format!("predict {file}")),
            Self::Fleet => of(&format!("account {file}")),
            Self::Scenario => of(&format!("simulate {file} -o FOLDER")),
            Self::Contract => Some(format!(
                "`--contract {file}` of `goodput account`, `timeline` and `serving` reads this file"
            )),
            Self::Empty => {
                Some("check that what writes it has finished, and that it is the right file".to_owned())
            }
            _ => None,
        }
    }
}

/// The verb behind a schema, `goodput.account/1`.
fn verb(schema: &str) -> Option<&str> {
    schema.strip_prefix("goodput.")?.split('/').next()
}

/// Files of other programs by their first bytes.
fn binary(bytes: &[u8]) -> &'static str {
    const KNOWN: [(&[u8], &str); 5] = [
        (b"\x1f\x8b", "a gzip file: unpack it first"),
        (b"PK\x03\x04", "a zip archive: unpack it first"),
        (b"PAR1", "a Parquet table"),
        (b"SQLite format 3", "an SQLite database (`goodput trace` reads those of Nsight Systems)"),
        (b"\xff\xfe", "UTF-16 text: save it as UTF-8"),
    ];
    let known = KNOWN.iter().find(|(magic, _)| bytes.starts_with(magic));
    known.map_or("binary data, no UTF-8 text", |(_, what)| what)
}

/// A file that the user named.
///
/// # Errors
/// A folder, or a file that the system refuses.
pub(crate) fn open(path: &Path, wanted: &Wanted) -> Result<File, VerbError> {
    if path.is_dir() {
        let message = format!("{}: found a folder, expected {}", path.display(), wanted.what);
        return Err(VerbError::new(message).help("name a file in it").at(of(path)));
    }
    File::open(path).map_err(|error| VerbError::io(path, &error).help(wanted.help))
}

/// The bytes of a file that the user named.
///
/// # Errors
/// As [`open`].
pub(crate) fn bytes(path: &Path, wanted: &Wanted) -> Result<Vec<u8>, VerbError> {
    let mut bytes = Vec::new();
    open(path, wanted)?
        .read_to_end(&mut bytes)
        .map_err(|error| VerbError::io(path, &error).help(wanted.help))?;
    Ok(bytes)
}

/// The text of a file that the user named.
///
/// # Errors
/// As [`open`], and for bytes that are no text.
pub(crate) fn text(path: &Path, wanted: &Wanted) -> Result<String, VerbError> {
    String::from_utf8(bytes(path, wanted)?).map_err(|error| {
        let message = format!("{}: no UTF-8: {error}", path.display());
        instead(path, wanted, VerbError::new(message).help(wanted.help).at(of(path)))
    })
}

/// The error of a file that was not read: what it is where that can be told, else `error`. Only then is the file looked at
/// a second time.
pub(crate) fn instead(path: &Path, wanted: &Wanted, error: VerbError) -> VerbError {
    let bytes = std::fs::read(path).unwrap_or_default();
    other(path, &bytes, wanted).unwrap_or(error)
}

/// What to say of a file that is recognised as something else.
pub(crate) fn other(path: &Path, bytes: &[u8], wanted: &Wanted) -> Option<VerbError> {
    let kind = FileKind::of(bytes).filter(|kind| !(wanted.is)(kind))?;
    let file = path.display().to_string();
    let message = format!("{file}: found {}, expected {}", kind.words(), wanted.what);
    let remedy = match kind.reader(&file) {
        Some(reader) => format!("{reader}; {}", wanted.help),
        None => wanted.help.to_owned(),
    };
    Some(VerbError::new(message).help(remedy).at(of(path)))
}

fn of(path: &Path) -> Place {
    Place { path: Some(path.display().to_string()), ..Place::default() }
}

/// A report that a decision can be made on.
pub(crate) const REPORT: Wanted = Wanted {
    what: "a report of account or timeline (JSON of goodput.account/1 or goodput.timeline/1)",
    help: "`goodput account … --format json -o FILE` and `goodput timeline … --format json -o FILE` write such reports",
    is: is_report,
};

/// A report of account or timeline.
pub(crate) fn is_report(kind: &FileKind) -> bool {
    matches!(kind, FileKind::Written(schema) if matches!(verb(schema), Some("account" | "timeline")))
}

/// A report of a serving fleet, which has ideals of its own.
pub(crate) fn is_serving_report(kind: &FileKind) -> bool {
    matches!(kind, FileKind::Written(schema) if verb(schema) == Some("serving"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

    fn of(text: &str) -> FileKind {
        FileKind::of(text.as_bytes()).unwrap()
    }

    /// The examples are what they are examples of.
    #[test]
    fn the_examples_are_recognised() {
        for (name, kind) in [
            ("plan.yaml", FileKind::Plan),
            ("sheet.yaml", FileKind::Sheet),
            ("contract.yaml", FileKind::Contract),
            ("run.yaml", FileKind::Run),
            ("fleet.yaml", FileKind::Scenario),
            ("serving.jsonl", FileKind::ServingLog),
        ] {
            let bytes = std::fs::read(format!("{EXAMPLES}/{name}")).unwrap();
            assert_eq!(FileKind::of(&bytes), Some(kind), "{name}");
        }
    }

    #[test]
    fn files_are_told_by_their_content() {
        assert_eq!(FileKind::of(b""), Some(FileKind::Empty));
        assert_eq!(FileKind::of(b" \n"), Some(FileKind::Empty));
        assert!(matches!(
            FileKind::of(b"\x00\xff\x12"),
            Some(FileKind::Binary("binary data, no UTF-8 text"))
        ));
        assert!(FileKind::of(b"\x1f\x8b\x08\x00").unwrap().words().contains("gzip"));
        assert_eq!(of("[1, 2]"), FileKind::JsonList);
        assert_eq!(of("- a\n- b\n"), FileKind::YamlList);
        assert_eq!(of("{\"a\": 1}"), FileKind::JsonObject);
        assert_eq!(of("{\"a\": 1}\n{\"a\": 2}\n"), FileKind::JsonLines);
        assert_eq!(of("{\"goodput_timeline\":1,\"job\":\"1\"}\n"), FileKind::Log("goodput-timeline"));
        assert_eq!(of("{\"schema\": \"goodput.flops/1\"}"), FileKind::Written("goodput.flops/1".to_owned()));
        assert_eq!(of("{\"schema\": \"goodput.baseline-row/1\"}\n{}"), FileKind::History);
        assert_eq!(of("{\"traceEvents\": []}"), FileKind::Trace);
        // Text that is broken is left to the parser of the verb.
        assert_eq!(FileKind::of(b"{\"schema\": "), None);
        assert_eq!(FileKind::of(b"a: ["), None);
    }
}
