//! The columns of a job table: which ones the accounting needs, and what shape each one has.

/// A column that the accounting reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    JobId,
    JobIdRaw,
    Name,
    User,
    Account,
    Cluster,
    Partition,
    Qos,
    Reservation,
    State,
    Submit,
    Eligible,
    Start,
    End,
    Elapsed,
    ElapsedRaw,
    Suspended,
    TimeLimit,
    TimeLimitRaw,
    NodeCount,
    AllocTres,
    ReqTres,
    AllocGres,
    ReqGres,
    NodeList,
    Reason,
}

impl Field {
    pub(super) const COUNT: usize = Self::Reason as usize + 1;

    fn of(name: &str) -> Option<Self> {
        const NAMES: [(&str, Field); Field::COUNT + 1] = [
            ("JobID", Field::JobId),
            ("JobIDRaw", Field::JobIdRaw),
            ("JobName", Field::Name),
            ("User", Field::User),
            ("Account", Field::Account),
            ("Cluster", Field::Cluster),
            ("Partition", Field::Partition),
            ("QOS", Field::Qos),
            ("Reservation", Field::Reservation),
            ("State", Field::State),
            ("Submit", Field::Submit),
            ("Eligible", Field::Eligible),
            ("Start", Field::Start),
            ("End", Field::End),
            ("Elapsed", Field::Elapsed),
            ("ElapsedRaw", Field::ElapsedRaw),
            ("Suspended", Field::Suspended),
            ("Timelimit", Field::TimeLimit),
            ("TimelimitRaw", Field::TimeLimitRaw),
            ("NNodes", Field::NodeCount),
            ("AllocNodes", Field::NodeCount),
            ("AllocTRES", Field::AllocTres),
            ("ReqTRES", Field::ReqTres),
            ("AllocGRES", Field::AllocGres),
            ("ReqGRES", Field::ReqGres),
            ("NodeList", Field::NodeList),
            ("Reason", Field::Reason),
        ];
        NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|&(_, field)| field)
    }
}

/// What a column's values look like: the anchors by which a row with stray delimiters is put right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A job or step id.
    Id,
    /// An upper-case word, `CANCELLED by 1003`.
    State,
    /// An instant.
    Time,
    /// `[DD-[HH:]]MM:SS`, or an upper-case word.
    Duration,
    /// A whole number, possibly missing.
    Number,
    /// `0:15`.
    ExitCode,
    /// `cpu=4,node=1`.
    Tres,
    /// `gpu[001-004]`.
    NodeList,
    /// One word without blanks, possibly missing.
    Word,
    /// Anything, but one field.
    Any,
    /// Free text: it may hold delimiters and line breaks.
    Free,
}

impl Shape {
    fn of(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "jobid" | "jobidraw" => Self::Id,
            "state" => Self::State,
            "submit" | "eligible" | "start" | "end" => Self::Time,
            "elapsed" | "suspended" | "timelimit" | "reserved" | "planned" => Self::Duration,
            "elapsedraw" | "timelimitraw" | "nnodes" | "allocnodes" | "ncpus" | "alloccpus" | "reqcpus"
            | "uid" | "gid" | "associd" | "cputimeraw" | "qosraw" | "ntasks" | "wckeyid" | "dbindex"
            | "priority" => Self::Number,
            "exitcode" | "derivedexitcode" => Self::ExitCode,
            "alloctres" | "reqtres" => Self::Tres,
            "nodelist" => Self::NodeList,
            "user" | "account" | "cluster" | "partition" | "qos" | "reservation" | "flags" | "group"
            | "allocgres" | "reqgres" => Self::Word,
            "jobname" | "submitline" | "comment" | "admincomment" | "systemcomment" | "workdir"
            | "constraints" | "container" | "extra" | "wckey" | "stdin" | "stdout" | "stderr"
            | "stdinexpanded" | "stdoutexpanded" | "stderrexpanded" | "script" | "env" | "licenses" => {
                Self::Free
            }
            _ => Self::Any,
        }
    }

    /// Whether `text` could be a value of this shape.
    pub(super) fn matches(self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let first = bytes.first().copied().unwrap_or(b' ');
        let all = |is_allowed: fn(&u8) -> bool| bytes.iter().all(is_allowed);
        match self {
            Self::Id => {
                first.is_ascii_digit()
                    && all(|b| {
                        b.is_ascii_alphanumeric()
                            || matches!(b, b'_' | b'+' | b'.' | b'[' | b']' | b',' | b'%' | b'-')
                    })
            }
            Self::State => {
                first.is_ascii_uppercase()
                    && all(|b| {
                        b.is_ascii_uppercase()
                            || b.is_ascii_digit()
                            || matches!(b, b'_' | b' ' | b'+' | b'b' | b'y')
                    })
            }
            Self::Time => {
                matches!(text, "" | "Unknown" | "None" | "N/A" | "None assigned")
                    || (first.is_ascii_digit() && bytes.len() >= 8 && !text.contains(['=', '[']))
            }
            Self::Duration => {
                matches!(text, "" | "UNLIMITED" | "Partition_Limit" | "INVALID")
                    || (first.is_ascii_digit()
                        && all(|b| b.is_ascii_digit() || matches!(b, b':' | b'-' | b'.')))
            }
            Self::Number => all(|b| b.is_ascii_digit() || matches!(b, b'K' | b'M' | b'.')),
            Self::ExitCode => all(|b| b.is_ascii_digit() || *b == b':'),
            Self::Tres => text.is_empty() || has_distinct_keys(text),
            Self::NodeList => {
                text == "None assigned"
                    || (!text.contains([' ', '=', ':', '|'])
                        && text.matches('[').count() == text.matches(']').count())
            }
            Self::Word => !text.contains(' '),
            Self::Any | Self::Free => true,
        }
    }
}

/// Whether every item is `key=value` and no key occurs twice: two lists run together are no list.
fn has_distinct_keys(text: &str) -> bool {
    let mut keys = Vec::new();
    text.split(',').all(|item| match item.split_once('=') {
        Some((key, _)) if !key.is_empty() && !keys.contains(&key) => {
            keys.push(key);
            true
        }
        _ => false,
    })
}

/// The order of the columns.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    pub(super) names: Vec<String>,
    pub(super) shapes: Vec<Shape>,
    at: [Option<usize>; Field::COUNT],
}

impl Columns {
    /// The columns of these names; a width (`JobName%30`) is no part of a name. A name given twice
    /// (some exports repeat `End`) counts where it stands first.
    pub(super) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<String> = names
            .into_iter()
            .map(|name| name.trim().split('%').next().unwrap_or_default().to_owned())
            .collect();
        let mut at = [None; Field::COUNT];
        for (column, name) in names.iter().enumerate() {
            if let Some(field) = Field::of(name) {
                at[field as usize].get_or_insert(column);
            }
        }
        let shapes = names.iter().map(|name| Shape::of(name)).collect();
        Self { names, shapes, at }
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn at(&self, field: Field) -> Option<usize> {
        self.at[field as usize]
    }

    pub(super) fn has(&self, field: Field) -> bool {
        self.at(field).is_some()
    }

    /// Whether the accounting depends on this column.
    pub(super) fn is_needed(&self, column: usize) -> bool {
        self.shapes[column] != Shape::Free && self.at.contains(&Some(column))
    }

    /// Names of the columns without which there is no accounting.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let mut missing = Vec::new();
        let mut need = |present: bool, name| {
            if !present {
                missing.push(name);
            }
        };
        need(self.has(Field::JobId) || self.has(Field::JobIdRaw), "JobIDRaw");
        need(self.has(Field::State), "State");
        need(self.has(Field::Submit), "Submit");
        need(self.has(Field::Start), "Start");
        need(self.has(Field::End), "End");
        need(
            self.has(Field::AllocTres) || self.has(Field::AllocGres) || self.has(Field::ReqGres),
            "AllocTRES",
        );
        missing
    }

    /// Whether these words are a header.
    pub(super) fn is_header<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
        words.any(|word| {
            matches!(Field::of(word.trim()), Some(Field::JobId | Field::JobIdRaw | Field::Submit))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn a_column_named_twice_counts_where_it_stands_first() {
        let columns = Columns::new(["JobID", "End", "State%20", "end"]);
        assert_eq!(columns.at(Field::End), Some(1));
        assert_eq!(columns.at(Field::State), Some(2));
        assert_eq!(columns.missing(), ["Submit", "Start", "AllocTRES"]);
    }

    #[rstest]
    #[case(Shape::Id, "8_[0-5%2]", true)]
    #[case(Shape::Id, "23+0.batch", true)]
    #[case(Shape::Id, "b `q`", false)]
    #[case(Shape::State, "CANCELLED by 1003", true)]
    #[case(Shape::State, "normal", false)]
    #[case(Shape::Time, "1795973123", true)]
    #[case(Shape::Time, "0:0", false)]
    #[case(Shape::Tres, "cpu=4,gres/gpu:h100=2,gres/gpu=2", true)]
    #[case(Shape::Tres, "cpu=4,node=1,cpu=4", false)]
    #[case(Shape::NodeList, "gpu[001-004,007]", true)]
    #[case(Shape::NodeList, "gpu[001-004", false)]
    fn shapes(#[case] shape: Shape, #[case] text: &str, #[case] expected: bool) {
        assert_eq!(shape.matches(text), expected);
    }
}
