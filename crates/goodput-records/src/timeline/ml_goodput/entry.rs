//! One entry of the log: a JSON object of scalars under known keys.
//!
//! Nearly every line is `{"job_name": "..", "step_count": n, "step_start_time": t}`, so a scanner of flat
//! objects reads those; anything unusual (escapes, nesting, errors) goes through `serde_json`. Both give
//! the same [`Entry`], and a property test holds them to it.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// The keys that mean something to this reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    JobName,
    JobStart,
    JobEnd,
    StepCount,
    StepStart,
    TpuInitStart,
    TpuInitEnd,
    TrainingPrepStart,
    TrainingPrepEnd,
    DataLoadingStart,
    DataLoadingEnd,
    CustomType,
    CustomStart,
    CustomEnd,
    ActiveSlices,
    SliceCountsAt,
    ElasticWaitType,
    ElasticWaitStart,
    ElasticWaitEnd,
    ElasticReinitStart,
    ElasticReinitEnd,
    EventType,
    Step,
    ReachedPreemption,
    WaitForPrevStart,
    WaitForPrevDuration,
    CheckpointerBlockingStart,
    CheckpointerBlockingDuration,
    ManagerBlockingStart,
    ManagerBlockingDuration,
    CheckpointerStart,
    CheckpointerDuration,
    ManagerStart,
    ManagerDuration,
}

impl Key {
    fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"job_name" => Self::JobName,
            b"job_start_time" => Self::JobStart,
            b"job_end_time" => Self::JobEnd,
            b"step_count" => Self::StepCount,
            b"step_start_time" => Self::StepStart,
            b"tpu_init_start_time" => Self::TpuInitStart,
            b"tpu_init_end_time" => Self::TpuInitEnd,
            b"training_prep_start_time" => Self::TrainingPrepStart,
            b"training_prep_end_time" => Self::TrainingPrepEnd,
            b"data_loading_start_time" => Self::DataLoadingStart,
            b"data_loading_end_time" => Self::DataLoadingEnd,
            b"custom_badput_event_type" => Self::CustomType,
            b"custom_badput_event_start_time" => Self::CustomStart,
            b"custom_badput_event_end_time" => Self::CustomEnd,
            b"active_slices" => Self::ActiveSlices,
            b"elastic_slice_counts_timestamp" => Self::SliceCountsAt,
            b"elastic_wait_event_type" => Self::ElasticWaitType,
            b"elastic_wait_start_time" => Self::ElasticWaitStart,
            b"elastic_wait_end_time" => Self::ElasticWaitEnd,
            b"elastic_reinit_start_time" => Self::ElasticReinitStart,
            b"elastic_reinit_end_time" => Self::ElasticReinitEnd,
            b"event_type" => Self::EventType,
            b"step" => Self::Step,
            b"reached_preemption" => Self::ReachedPreemption,
            b"wait_for_prev_start_time" => Self::WaitForPrevStart,
            b"wait_for_prev_duration_secs" => Self::WaitForPrevDuration,
            b"checkpointer_blocking_start_time" => Self::CheckpointerBlockingStart,
            b"checkpointer_blocking_duration_secs" => Self::CheckpointerBlockingDuration,
            b"checkpoint_manager_blocking_start_time" => Self::ManagerBlockingStart,
            b"checkpoint_manager_blocking_duration_secs" => Self::ManagerBlockingDuration,
            b"checkpointer_start_time" => Self::CheckpointerStart,
            b"checkpointer_duration_secs" => Self::CheckpointerDuration,
            b"checkpoint_manager_start_time" => Self::ManagerStart,
            b"checkpoint_manager_duration_secs" => Self::ManagerDuration,
            _ => return None,
        })
    }
}

/// A value, its digits untouched.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    Text(Cow<'a, str>),
    /// An object or an array, where this reader expects neither.
    Nested,
}

/// The known keys of one entry, in the order of the line; of a key given twice the last value.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Entry<'a> {
    pairs: Vec<(Key, Scalar<'a>)>,
}

/// What one JSON object of the log is.
#[derive(Debug, PartialEq)]
pub(super) enum Record<'a> {
    /// An entry of the library.
    Entry(Entry<'a>),
    /// A Cloud Logging entry around it: when it was logged (as printed), and the payload's text.
    Logged { timestamp: Option<String>, payload: &'a str },
}

impl<'a> Entry<'a> {
    pub(super) fn get(&self, key: Key) -> Option<&Scalar<'a>> {
        self.pairs.iter().find(|(k, _)| *k == key).map(|(_, value)| value)
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = (Key, &Scalar<'a>)> {
        self.pairs.iter().map(|(key, value)| (*key, value))
    }

    /// The text under `key`.
    pub(super) fn text(&self, key: Key) -> Option<&str> {
        match self.get(key)? {
            Scalar::Text(text) => Some(text),
            _ => None,
        }
    }

    fn set(&mut self, key: Key, value: Scalar<'a>) {
        match self.pairs.iter_mut().find(|(k, _)| *k == key) {
            Some(pair) => pair.1 = value,
            None => self.pairs.push((key, value)),
        }
    }
}

/// Reads one JSON object.
///
/// # Errors
/// What `serde_json` says is wrong with it.
pub(super) fn read(text: &str) -> Result<Record<'_>, serde_json::Error> {
    match scan(text) {
        Some(entry) => Ok(Record::Entry(entry)),
        None => parse(text),
    }
}

/// The general way.
pub(super) fn parse(text: &str) -> Result<Record<'_>, serde_json::Error> {
    let members = serde_json::from_str::<Members<'_>>(text)?.0;
    if let Some((_, payload)) = members.iter().rev().find(|(name, _)| name == "jsonPayload") {
        let timestamp = members.iter().rev().find(|(name, _)| name == "timestamp");
        let timestamp = timestamp.and_then(|(_, raw)| serde_json::from_str(raw.get()).ok());
        return Ok(Record::Logged { timestamp, payload: payload.get() });
    }
    let mut entry = Entry::default();
    for (name, raw) in members {
        if let Some(key) = Key::named(name.as_bytes()) {
            entry.set(key, scalar(raw.get())?);
        }
    }
    Ok(Record::Entry(entry))
}

fn scalar(raw: &str) -> Result<Scalar<'_>, serde_json::Error> {
    Ok(match raw.as_bytes().first() {
        Some(b'n') => Scalar::Null,
        Some(b't') => Scalar::Bool(true),
        Some(b'f') => Scalar::Bool(false),
        Some(b'"') => Scalar::Text(Cow::Owned(serde_json::from_str(raw)?)),
        Some(b'{' | b'[') => Scalar::Nested,
        _ => Scalar::Number(raw),
    })
}

/// The members of an object in their order, values unread.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> serde::Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    members.push((Cow::Owned(name), map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

/// The quick way: a flat object without escapes. `None` sends the line to [`parse`].
pub(super) fn scan(text: &str) -> Option<Entry<'_>> {
    let mut scanner = Scanner { text, at: 0 };
    let mut entry = Entry { pairs: Vec::with_capacity(4) };
    scanner.expect(b'{')?;
    loop {
        let name = scanner.string()?.as_bytes();
        scanner.expect(b':')?;
        let value = scanner.value()?;
        match Key::named(name) {
            Some(key) => entry.set(key, value),
            None if name == b"jsonPayload" => return None,
            None => {}
        }
        match scanner.next_byte()? {
            b',' => {}
            b'}' => break,
            _ => return None,
        }
    }
    scanner.skip_blank();
    (scanner.at == text.len()).then_some(entry)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn next_byte(&mut self) -> Option<u8> {
        self.skip_blank();
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next_byte()? == byte).then_some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        self.expect(b'"')?;
        let rest = self.text.get(self.at..)?;
        let text = rest.get(..memchr::memchr(b'"', rest.as_bytes())?)?;
        if text.bytes().any(|byte| byte == b'\\' || byte < b' ') {
            return None;
        }
        self.at += text.len() + 1;
        Some(text)
    }

    fn value(&mut self) -> Option<Scalar<'a>> {
        self.skip_blank();
        match self.peek()? {
            b'"' => Some(Scalar::Text(Cow::Borrowed(self.string()?))),
            b'n' => self.word("null", Scalar::Null),
            b't' => self.word("true", Scalar::Bool(true)),
            b'f' => self.word("false", Scalar::Bool(false)),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn word(&mut self, word: &str, value: Scalar<'a>) -> Option<Scalar<'a>> {
        self.text.get(self.at..)?.starts_with(word).then(|| {
            self.at += word.len();
            value
        })
    }

    /// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?` (RFC 8259, section 6).
    fn number(&mut self) -> Option<Scalar<'a>> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let leading_zero = self.peek() == Some(b'0');
        let digits = self.digits()?;
        if leading_zero && digits > 1 {
            return None;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Some(Scalar::Number(self.text.get(start..self.at)?))
    }

    fn digits(&mut self) -> Option<usize> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > start).then_some(self.at - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_step_takes_the_quick_way() {
        let entry = scan(r#"{"job_name": "j", "step_count": 7, "step_start_time": 1767225710.01}"#).unwrap();
        assert_eq!(entry.text(Key::JobName), Some("j"));
        assert_eq!(entry.get(Key::StepCount), Some(&Scalar::Number("7")));
        assert_eq!(entry.get(Key::StepStart), Some(&Scalar::Number("1767225710.01")));
    }

    #[test]
    fn the_unusual_takes_the_general_way() {
        for text in [r#"{"job_name": "a\u0041"}"#, r#"{"job_name": {"x": 1}}"#, "{}", r#"{"jsonPayload": 1}"#]
        {
            assert_eq!(scan(text), None, "{text}");
            assert!(read(text).is_ok(), "{text}");
        }
        for text in [r#"{"step_count": NaN}"#, r#"{"step_count": 01}"#, r#"{"step_count": 1"#, "[1]", "7"] {
            assert!(read(text).is_err(), "{text}");
        }
        let logged =
            read(r#"{"timestamp": "2026-01-01T00:00:00Z", "jsonPayload": {"job_name": "j"}}"#).unwrap();
        let timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        assert_eq!(logged, Record::Logged { timestamp, payload: r#"{"job_name": "j"}"# });
    }

    fn member() -> impl Strategy<Value = String> {
        let name = prop_oneof![
            Just("job_name"),
            Just("step_count"),
            Just("step_start_time"),
            Just("event_type"),
            Just("other"),
            Just("checkpoint_manager_blocking_duration_secs"),
        ];
        let value = prop_oneof![
            "-?(0|[1-9][0-9]{0,12})(\\.[0-9]{1,12})?([eE][+-]?[0-9]{1,2})?",
            "\"[ -!#-\\[\\]-~é]{0,8}\"",
            "\"(\\\\n|\\\\u00e9|x){0,3}\"",
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("false".to_owned()),
            Just("{\"a\": [1]}".to_owned()),
            Just("NaN".to_owned()),
            Just("01".to_owned()),
        ];
        (name, "[ \t]{0,2}", value)
            .prop_map(|(name, blank, value)| format!("{blank}\"{name}\"{blank}:{blank}{value}{blank}"))
    }

    proptest! {
        #[test]
        fn both_ways_agree(members in prop::collection::vec(member(), 0..6), cut in any::<prop::sample::Index>(), cuts in any::<bool>()) {
            let mut text = format!("{{{}}}", members.join(","));
            if cuts {
                let at = cut.index(text.len());
                text = text.chars().take(at).collect();
            }
            if let Some(entry) = scan(&text) {
                prop_assert_eq!(parse(&text).ok(), Some(Record::Entry(entry)));
            }
        }

        #[test]
        fn whatever_the_scanner_takes_is_json(text in "[{}\":,0-9a-z.eE+\\- ]{0,40}") {
            if let Some(entry) = scan(&text) {
                prop_assert_eq!(parse(&text).ok(), Some(Record::Entry(entry)));
            }
        }
    }
}
