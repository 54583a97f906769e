//! A file that a verb cannot read: every verb of decisions with every kind of file that is another one. The error names
//! the file, what was found, what was expected, and the verb that reads it where one does.
#![allow(clippy::unwrap_used)]

mod command;

use std::path::Path;

use command::run;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// Name, and what the error says of it; the verb that reads it.
const FILES: [(&str, &str, &str); 14] = [
    ("empty.json", "nothing: the file is empty", ""),
    ("blank.yaml", "nothing: the file is empty", ""),
    ("binary.json", "binary data", ""),
    ("packed.json", "a gzip file", ""),
    ("folder.yaml", "a folder", ""),
    ("list.yaml", "a YAML list", ""),
    ("array.json", "a JSON array", ""),
    ("object.json", "a JSON object without", ""),
    ("log.jsonl", "a job's log (goodput-timeline)", "goodput timeline"),
    ("report.json", "a report of timeline", "goodput lint"),
    ("flops.json", "a report of flops", ""),
    ("history.jsonl", "a history of reports", "goodput baseline check"),
    ("plan.yaml", "a plan", "goodput plan"),
    ("sheet.yaml", "a planning sheet", "goodput lint"),
];

/// A verb with the file in one of its places, and the files that it reads or names by its own fields.
const PLACES: [(&[&str], &[&str]); 9] = [
    (&["lint", "FILE"], &["plan.yaml", "sheet.yaml", "report.json"]),
    (&["compare", "FILE", "report.json"], &["report.json"]),
    (&["compare", "report.json", "FILE"], &["report.json"]),
    (&["baseline", "check", "FILE"], &["history.jsonl", "object.json"]),
    (
        &["baseline", "update", "FILE", "report.json"],
        &["history.jsonl", "empty.json", "blank.yaml", "object.json"],
    ),
    (&["baseline", "update", "new.jsonl", "FILE"], &["report.json"]),
    (&["plan", "FILE"], &["plan.yaml", "object.json"]),
    // Logs may be packed.
    (&["timeline", "FILE"], &["log.jsonl", "packed.json"]),
    (&["timeline", "log.jsonl", "--contract", "FILE"], &["empty.json", "blank.yaml", "object.json"]),
];

/// Words of parsers and of this program's types.
const FOREIGN: [&str; 9] = [
    "invalid type",
    "invalid value",
    "u64",
    "f64",
    "struct ",
    "EOF",
    "trailing characters",
    "os error 21",
    "<document start>",
];

fn written(folder: &Path) {
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    write("empty.json", b"");
    write("blank.yaml", b"\n  \n");
    write("binary.json", &[0, 159, 146, 150, 255, 0, 7]);
    write("packed.json", b"\x1f\x8b\x08\x00\x00\x00\x00\x00");
    std::fs::create_dir(folder.join("folder.yaml")).unwrap();
    write("list.yaml", b"- a\n- b\n");
    write("array.json", b"[{\"a\": 1}]");
    write("object.json", b"{\"a\": 1}");
    let log = "{\"goodput_timeline\":1,\"job\":\"4711\",\"devices\":8}\n{\"event\":\"launch\",\"at\":1767225600}\n\
               {\"step\":0,\"start\":1767225630,\"end\":1767225632}\n{\"event\":\"stop\",\"cause\":\"finished\",\"at\":1767225640}\n";
    write("log.jsonl", log.as_bytes());
    let report = run(&["timeline", &path("log.jsonl"), "--format", "json"]);
    write("report.json", report.stdout.as_bytes());
    write("flops.json", b"{\"schema\": \"goodput.flops/1\"}");
    let updated = run(&["baseline", "update", &path("history.jsonl"), &path("report.json")]);
    assert!(updated.status.success(), "{}", updated.stderr);
    for name in ["plan.yaml", "sheet.yaml"] {
        std::fs::copy(format!("{EXAMPLES}/{name}"), folder.join(name)).unwrap();
    }
}

#[test]
fn every_verb_says_what_the_file_is() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path());
    let mut wrong = Vec::new();
    for (place, reads) in PLACES {
        for (name, found, reader) in FILES {
            if reads.contains(&name) {
                continue;
            }
            let arguments: Vec<String> = place
                .iter()
                .map(|argument| match *argument {
                    "FILE" => folder.path().join(name).display().to_string(),
                    file if file.contains('.') => folder.path().join(file).display().to_string(),
                    word => word.to_owned(),
                })
                .collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let output = run(&arguments);
            let said = |words: &str| output.stderr.contains(words);
            let named = said(name) && said("found") && said(found) && said("expected") && said("help:");
            let foreign: Vec<_> = FOREIGN.iter().filter(|words| said(words)).collect();
            if output.status.code() != Some(2) || !named || !said(reader) || !foreign.is_empty() {
                wrong.push(format!(
                    "{place:?} {name} {foreign:?}: {:?} {}",
                    output.status.code(),
                    output.stderr
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(!folder.path().join("new.jsonl").exists(), "nothing is written for a report that cannot be read");
}

/// Files of the right kind in which something is wrong: line or field, found, expected.
#[test]
fn what_is_wrong_inside_a_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path());
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("steps.yaml", "figures: [{name: MFU, value: 0.4, kind: mfu, steps: -3}]");
    write("torn.json", "{\"schema\": \"goodput.timeline/1\",\n \"title\": ");
    write("short.json", "{\"schema\": \"goodput.timeline/1\"}");
    write("typed.json", "{\"schema\": \"goodput.timeline/1\",\n \"title\": [1]}");
    write("rows.jsonl", "{\"a\": 1}\n{\"schema\": \"goodput.account/1\"}\n");
    write("key.yaml", "system: {gpu: A100}");
    write("type.yaml", "workload: {global_batch: many}");
    write("section.yaml", "system: A100");
    write("against.yaml", "system: {devices: 16}");
    write("from.yaml", "startup: {from: log.jsonl}\njob: {held: 7 d}\nquestions: [runtime]");
    for (arguments, words) in [
        (
            ["lint", "steps.yaml"].as_slice(),
            ["figures[0].steps", "found -3", "a whole number of zero or more"].as_slice(),
        ),
        (&["lint", "torn.json"], &["torn.json: line 2", "ends in the middle of a value", "help:"]),
        (&["lint", "short.json"], &["short.json: line 1", "missing field `contract`", "help:"]),
        (&["compare", "typed.json", "report.json"], &["typed.json: line 2", "found a list", "expected text"]),
        (
            &["baseline", "check", "rows.jsonl"],
            &["rows.jsonl", "line 1: it has no `schema`", "expected \"goodput.baseline-row/1\""],
        ),
        (
            &["plan", "from.yaml"],
            &["startup.from", "log.jsonl: found a job's log", "expected a report of account or timeline"],
        ),
        (&["timeline", "log.jsonl", "--contract", "key.yaml"], &["key.yaml", "`system.gpu`", "nearest is"]),
        (
            &["timeline", "log.jsonl", "--contract", "type.yaml"],
            &["type.yaml", "`workload.global_batch` is \"many\"", "expected a number"],
        ),
        (
            &["timeline", "log.jsonl", "--contract", "section.yaml"],
            &["section.yaml", "`system` is \"A100\"", "expected a section"],
        ),
        (
            &["timeline", "log.jsonl", "--contract", "against.yaml"],
            &[
                "against.yaml",
                "`system.devices` is stated as 16",
                "the records say 8",
                "never overruled by a statement",
            ],
        ),
    ] {
        let arguments: Vec<String> = arguments
            .iter()
            .map(|argument| if argument.contains('.') { path(argument) } else { (*argument).to_owned() })
            .collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", output.stderr);
        for word in words {
            assert!(output.stderr.contains(word), "{arguments:?} {word}: {}", output.stderr);
        }
        assert!(FOREIGN.iter().all(|foreign| !output.stderr.contains(foreign)), "{}", output.stderr);
    }
}
