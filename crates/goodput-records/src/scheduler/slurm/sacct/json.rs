//! The job table as JSON: data parsers v0.0.38 (Slurm 22.05) and later.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;
use std::marker::PhantomData;

use goodput_core::Timestamp;
use goodput_core::records::{FileId, FleetRecords};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::super::SlurmOptions;
use super::super::state::job_state_of_list;
use super::super::times::epoch_seconds;
use super::job::{JobRow, JobRows, Refusal, Repair, seconds_ns};
use super::json_array::{Broken, JsonArray, Part};
use super::{EXPORT_COMMAND, io_error};
use crate::{FileReport, ReadError, Treatment};

pub(super) fn read(
    path: &str,
    file: FileId,
    input: impl Read,
    options: &SlurmOptions,
    into: &mut FleetRecords,
) -> Result<FileReport, ReadError> {
    let cluster = options.cluster.as_deref().unwrap_or("");
    let mut rows = JobRows::new(path, "sacct json".to_owned(), file, cluster, into);
    let mut document = JsonArray::new(input, "jobs");
    let mut index = 0_u32;
    loop {
        match document.next_part() {
            Ok(None) => break,
            Ok(Some(Part::Element(job))) => {
                index = index.saturating_add(1);
                add(&mut rows, index, job);
                if rows.is_hopeless() {
                    return rows.finish();
                }
            }
            Ok(Some(Part::Value { key: "meta", value })) => {
                rows.report.format = serde_json::from_slice::<Meta<'_>>(value).unwrap_or_default().format();
            }
            Ok(Some(Part::Value { key: "errors", value })) => {
                if serde_json::from_slice::<Vec<IgnoredAny>>(value).is_ok_and(|errors| !errors.is_empty()) {
                    rows.report.find(Treatment::Noted, "slurm_errors", 0, "errors", || {
                        "sacct reports errors of its own in this file: it may be incomplete".to_owned()
                    });
                }
            }
            Ok(Some(Part::Value { .. })) => {}
            Err(broken) => return Err(broken_document(path, index, broken)),
        }
    }
    if !document.has_array() {
        return Err(ReadError::Format {
            path: path.to_owned(),
            line: 0,
            field: "jobs".to_owned(),
            message: "the document has no array \"jobs\": it is no job table".to_owned(),
            remedy: format!("export with sacct -a -D --json, or with: {EXPORT_COMMAND}"),
        });
    }
    rows.finish()
}

fn broken_document(path: &str, index: u32, broken: Broken) -> ReadError {
    let message = match broken {
        Broken::Io(error) => return io_error(path, error),
        Broken::CutOff => format!("the JSON ends within a value after {index} jobs: the file was cut off"),
        Broken::Malformed { offset } => format!("no JSON at byte {offset}, after {index} jobs"),
        Broken::TooLarge => format!("the value after {index} jobs is larger than 256 MiB"),
    };
    ReadError::Format {
        path: path.to_owned(),
        line: 0,
        field: "jobs".to_owned(),
        message,
        remedy: "export the file again, and check that the disk was not full".to_owned(),
    }
}

fn add(rows: &mut JobRows<'_>, index: u32, bytes: &[u8]) {
    let mut repairs = Vec::new();
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, Cow::Owned(_)) {
        repairs.push(Repair {
            code: "bad_utf8",
            field: "",
            message: "bytes that are no UTF-8 were replaced".to_owned(),
        });
    }
    let job: Job<'_> = match serde_json::from_str(&text) {
        Ok(job) => job,
        Err(error) => {
            return rows.refuse(
                index,
                Refusal::new("bad_record", "", format!("the record cannot be read: {error}")),
            );
        }
    };
    let display_id = job.display_id();
    match job.row(index, &job.job_id.to_string(), &display_id) {
        Ok(row) => rows.add(&row, repairs),
        Err(refusal) => rows.refuse(index, refusal),
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Meta<'a> {
    #[serde(borrow)]
    plugin: Option<Plugin<'a>>,
    #[serde(borrow, alias = "Slurm")]
    slurm: Option<Release<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Plugin<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    data_parser: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Release<'a> {
    #[serde(borrow)]
    release: Text<'a>,
}

impl Meta<'_> {
    fn format(&self) -> String {
        let mut format = "sacct json".to_owned();
        let parser = self.plugin.as_ref().map(|plugin| {
            if plugin.data_parser.0.is_empty() { &plugin.kind.0 } else { &plugin.data_parser.0 }
        });
        if let Some(parser) = parser.filter(|parser| !parser.is_empty()) {
            format = format!("{format} {parser}");
        }
        if let Some(slurm) = self.slurm.as_ref().filter(|slurm| !slurm.release.0.is_empty()) {
            format = format!("{format} (Slurm {})", slurm.release.0);
        }
        format
    }
}

#[derive(Debug, Deserialize)]
struct Job<'a> {
    #[serde(default)]
    job_id: Number,
    #[serde(default)]
    array: Option<Array<'a>>,
    #[serde(default)]
    het: Option<Het>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    user: Text<'a>,
    #[serde(borrow, default)]
    account: Text<'a>,
    #[serde(borrow, default)]
    cluster: Text<'a>,
    #[serde(borrow, default)]
    partition: Text<'a>,
    #[serde(borrow, default)]
    qos: Text<'a>,
    #[serde(borrow, default)]
    reservation: Option<Reservation<'a>>,
    #[serde(borrow, default)]
    state: Option<State<'a>>,
    #[serde(default)]
    time: Option<Time>,
    #[serde(borrow, default)]
    nodes: Text<'a>,
    #[serde(default)]
    allocation_nodes: Number,
    #[serde(borrow, default)]
    tres: Option<TresLists<'a>>,
}

#[derive(Debug, Deserialize)]
struct Array<'a> {
    #[serde(default)]
    job_id: Number,
    #[serde(default)]
    task_id: Number,
    #[serde(borrow, default)]
    task: Text<'a>,
}

#[derive(Debug, Deserialize)]
struct Het {
    #[serde(default)]
    job_id: Number,
    #[serde(default)]
    job_offset: Number,
}

#[derive(Debug, Deserialize)]
struct Reservation<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
}

#[derive(Debug, Deserialize)]
struct State<'a> {
    #[serde(borrow, default)]
    current: Words<'a>,
    #[serde(borrow, default)]
    reason: Text<'a>,
}

#[derive(Debug, Deserialize)]
struct Time {
    #[serde(default)]
    submission: Number,
    #[serde(default)]
    eligible: Option<Number>,
    #[serde(default)]
    start: Number,
    #[serde(default)]
    end: Number,
    #[serde(default)]
    elapsed: Number,
    #[serde(default)]
    suspended: Number,
    #[serde(default)]
    limit: Number,
}

#[derive(Debug, Deserialize)]
struct TresLists<'a> {
    #[serde(borrow, default)]
    allocated: Option<Vec<TresItem<'a>>>,
    #[serde(borrow, default)]
    requested: Option<Vec<TresItem<'a>>>,
}

#[derive(Debug, Deserialize)]
struct TresItem<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(default)]
    count: Number,
}

impl<'a> Job<'a> {
    /// The id a person knows: `9_5`, `9_[0-5%2]`, `23+1`.
    fn display_id(&self) -> String {
        if let Some(array) = self.array.as_ref().filter(|array| array.job_id.0.is_some_and(|id| id > 0)) {
            if array.task_id.0.is_some() {
                return format!("{}_{}", array.job_id, array.task_id);
            }
            if !array.task.0.is_empty() {
                return format!("{}_[{}]", array.job_id, array.task.0);
            }
        }
        if let Some(het) = self.het.as_ref().filter(|het| het.job_id.0.is_some_and(|id| id > 0)) {
            return format!("{}+{}", het.job_id, het.job_offset);
        }
        self.job_id.to_string()
    }

    fn row<'r>(&'r self, index: u32, job: &'r str, display_id: &'r str) -> Result<JobRow<'r>, Refusal> {
        if job.is_empty() {
            return Err(Refusal::new("bad_id", "job_id", "the record has no job id"));
        }
        let time = self.time.as_ref().ok_or_else(|| {
            let message = "the record has no \"time\": squeue and scontrol write such jobs, sacct does not";
            Refusal::new("no_time", "time", message)
        })?;
        let instant = |field: &str, number: Number| instant(field, number);
        let tres = self.tres.as_ref();
        let allocated = Devices::of(tres.and_then(|tres| tres.allocated.as_deref()));
        let requested = Devices::of(tres.and_then(|tres| tres.requested.as_deref()));
        let state = self.state.as_ref();
        let words = state.map_or(&[][..], |state| &state.current.0);
        Ok(JobRow {
            line: index,
            job,
            display_id,
            cluster: &self.cluster.0,
            name: &self.name.0,
            user: &self.user.0,
            account: &self.account.0,
            partition: &self.partition.0,
            qos: &self.qos.0,
            reservation: self.reservation.as_ref().map_or("", |reservation| &reservation.name.0),
            state: job_state_of_list(words.iter().map(AsRef::as_ref)),
            state_text: words.first().map_or("", AsRef::as_ref),
            reason: state.map_or("", |state| &state.reason.0),
            submit: instant("time.submission", time.submission)?,
            eligible: time.eligible.map(|number| instant("time.eligible", number)).transpose()?,
            start: instant("time.start", time.start)?,
            end: instant("time.end", time.end)?,
            elapsed_ns: time.elapsed.unsigned().map(seconds_ns),
            suspended_ns: time.suspended.unsigned().map(seconds_ns),
            time_limit_ns: time.limit.unsigned().map(|minutes| seconds_ns(minutes.saturating_mul(60))),
            allocated_devices: allocated.count()?,
            requested_devices: requested.count()?,
            node_count: self.allocation_nodes.unsigned().filter(|&nodes| nodes > 0).or(requested.nodes),
            node_list: &self.nodes.0,
        })
    }
}

fn instant(field: &str, number: Number) -> Result<Option<Timestamp>, Refusal> {
    let Some(seconds) = number.unsigned() else {
        return Ok(None);
    };
    epoch_seconds(seconds)
        .map_err(|()| Refusal::new("bad_time", field, format!("{seconds} is no time in epoch seconds")))
}

/// What a list of resources says: the total of the devices, or else the sum over their types.
#[derive(Debug, Default)]
struct Devices {
    is_listed: bool,
    is_uncounted: bool,
    total: Option<u64>,
    by_type: Option<u64>,
    nodes: Option<u64>,
}

impl Devices {
    fn of(list: Option<&[TresItem<'_>]>) -> Self {
        let mut devices = Self::default();
        for item in list.unwrap_or_default() {
            devices.is_listed = true;
            let count = item.count.unsigned();
            match (item.kind.0.as_ref(), item.name.0.as_ref()) {
                ("node", _) => devices.nodes = count,
                ("gres", "gpu") => {
                    devices.total = count;
                    devices.is_uncounted |= count.is_none();
                }
                ("gres", name) if name.starts_with("gpu:") => {
                    devices.by_type = Some(devices.by_type.unwrap_or(0).saturating_add(count.unwrap_or(0)));
                    devices.is_uncounted |= count.is_none();
                }
                _ => {}
            }
        }
        devices
    }

    /// `None` when there is no list.
    fn count(&self) -> Result<Option<u64>, Refusal> {
        if self.is_uncounted {
            return Err(Refusal::new("bad_tres", "tres", "gres/gpu has no count"));
        }
        Ok(self.is_listed.then(|| self.total.or(self.by_type).unwrap_or(0)))
    }
}

/// A text that may be missing, null, or (in some versions) a number.
#[derive(Debug, Default)]
struct Text<'a>(Cow<'a, str>);

/// A number in any of Slurm's forms: plain, as text, `null`, or `{"set", "infinite", "number"}`.
#[derive(Debug, Default, Clone, Copy)]
struct Number(Option<i64>);

/// One word, or a list of words.
#[derive(Debug, Default)]
struct Words<'a>(Vec<Cow<'a, str>>);

impl Number {
    /// `None` when it is not set, infinite or negative.
    fn unsigned(self) -> Option<u64> {
        self.0.and_then(|number| u64::try_from(number).ok())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |number| write!(f, "{number}"))
    }
}

/// Takes whatever JSON holds at a place; what the target has no use for is passed over.
trait FromJson<'de>: Default {
    fn from_text(_: Cow<'de, str>) -> Self {
        Self::default()
    }
    fn from_number(_: i64) -> Self {
        Self::default()
    }
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

struct Lenient<T>(PhantomData<T>);

impl<'de, T: FromJson<'de>> Visitor<'de> for Lenient<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::from_text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(Cow::Owned(text.to_owned())))
    }
    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::from_number(number))
    }
    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(i64::try_from(number).map_or_else(|_| T::default(), T::from_number))
    }
    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        // Slurm writes whole numbers; some JSON tools rewrite them as 12.0.
        const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
        let is_whole = number.fract() == 0.0 && number.abs() <= MAX_EXACT;
        Ok(if is_whole { T::from_number(number as i64) } else { T::default() })
    }
    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(list)
    }
}

impl<'de> FromJson<'de> for Text<'de> {
    fn from_text(text: Cow<'de, str>) -> Self {
        Self(text)
    }
}

impl<'de> FromJson<'de> for Number {
    fn from_text(text: Cow<'de, str>) -> Self {
        Self(text.trim().parse().ok())
    }
    fn from_number(number: i64) -> Self {
        Self(Some(number))
    }
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let (mut is_set, mut is_infinite, mut value) = (true, false, None);
        while let Some(key) = map.next_key::<Text<'de>>()? {
            match key.0.as_ref() {
                "set" => is_set = map.next_value()?,
                "infinite" => is_infinite = map.next_value()?,
                "number" => value = map.next_value::<Self>()?.0,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Self(value.filter(|_| is_set && !is_infinite)))
    }
}

impl<'de> FromJson<'de> for Words<'de> {
    fn from_text(text: Cow<'de, str>) -> Self {
        Self(vec![text])
    }
    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut words = Vec::new();
        while let Some(word) = list.next_element::<Text<'de>>()? {
            words.push(word.0);
        }
        Ok(Self(words))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Lenient::<Text<'de>>(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Lenient(PhantomData))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Words<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Lenient::<Words<'de>>(PhantomData))
    }
}
