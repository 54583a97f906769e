//! The device file: `devices:` with a list, every figure with its unit in the field's name.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use serde::Deserialize;

use super::name::words;
use super::{ClockBasis, Device, Dtype, Engines, Figure, Link, Names, Package};

/// Why a device file cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// It is no YAML, or no list of devices.
    #[error("{label}: {message}")]
    Yaml {
        /// The file as the user named it.
        label: String,
        /// What is wrong, with its line.
        message: String,
    },
    /// A field that cannot be right.
    #[error("{label}, device {device}, field {field}: {message}")]
    Field {
        /// The file as the user named it.
        label: String,
        /// The device.
        device: String,
        /// The field.
        field: String,
        /// What was found and what is expected.
        message: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    devices: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    vendor: String,
    #[serde(default)]
    full_names: Vec<String>,
    names: Vec<String>,
    #[serde(default)]
    qualifiers: Vec<String>,
    #[serde(default = "gpu")]
    unit: String,
    #[serde(default = "one")]
    devices_per_unit: u32,
    package: Option<Package>,
    dense_peaks: Peaks,
    #[serde(default)]
    unsupported: BTreeMap<Dtype, String>,
    measured_bf16_tflops: Option<f64>,
    memory_gb: Option<Figure>,
    memory_tb_per_s: Option<Figure>,
    scaleup: Option<LinkEntry>,
    engines: Option<EnginesEntry>,
    power_w: Option<Figure>,
    source: String,
    #[serde(default)]
    unverified: Vec<String>,
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Peaks {
    bf16_tflops: Option<Figure>,
    fp16_tflops: Option<Figure>,
    fp8_tflops: Option<Figure>,
    fp4_tflops: Option<Figure>,
    tf32_tflops: Option<Figure>,
    int8_tops: Option<Figure>,
    fp32_vector_tflops: Option<Figure>,
}

impl Peaks {
    fn by_dtype(&self) -> [(Dtype, &'static str, Option<Figure>); 7] {
        [
            (Dtype::Bf16, "bf16_tflops", self.bf16_tflops),
            (Dtype::Fp16, "fp16_tflops", self.fp16_tflops),
            (Dtype::Fp8, "fp8_tflops", self.fp8_tflops),
            (Dtype::Fp4, "fp4_tflops", self.fp4_tflops),
            (Dtype::Tf32, "tf32_tflops", self.tf32_tflops),
            (Dtype::Int8, "int8_tops", self.int8_tops),
            (Dtype::Fp32, "fp32_vector_tflops", self.fp32_vector_tflops),
        ]
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkEntry {
    link: String,
    bidirectional_gb_per_s: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnginesEntry {
    count: u32,
    kind: String,
    dense_16bit_flop_per_clock: Option<f64>,
    clock_mhz: Option<f64>,
    clock_basis: Option<ClockBasis>,
}

fn gpu() -> String {
    "GPU".to_owned()
}

const fn one() -> u32 {
    1
}

/// What a figure in the unit of its field can be, from a small edge device to far above any that is announced.
/// A figure in another unit (FLOP/s, GB/s, GHz) lies outside.
const TFLOPS: RangeInclusive<f64> = 0.01..=1e6;
const GB: RangeInclusive<f64> = 0.1..=1e5;
const TB_PER_S: RangeInclusive<f64> = 0.001..=500.0;
const LINK_GB_PER_S: RangeInclusive<f64> = 1.0..=1e5;
const WATTS: RangeInclusive<f64> = 1.0..=1e5;
const MHZ: RangeInclusive<f64> = 50.0..=20_000.0;
const FLOP_PER_CLOCK: RangeInclusive<f64> = 1.0..=1e7;

pub(super) fn read(label: &str, text: &str) -> Result<Vec<Device>, CatalogueError> {
    let file: File = serde_saphyr::from_str(text)
        .map_err(|e| CatalogueError::Yaml { label: label.to_owned(), message: e.to_string() })?;
    let mut seen = BTreeSet::new();
    file.devices
        .into_iter()
        .map(|entry| {
            let check = Check { label, device: &entry.name };
            if !seen.insert(words(&entry.name)) {
                return Err(check.error("name", "the file lists it twice"));
            }
            device(&entry, &check)
        })
        .collect()
}

fn device(entry: &Entry, check: &Check<'_>) -> Result<Device, CatalogueError> {
    let mut dense_peaks = BTreeMap::new();
    for (dtype, field, figure) in entry.dense_peaks.by_dtype() {
        let Some(figure) = check.figure(field, figure, &TFLOPS)? else { continue };
        if entry.unsupported.contains_key(&dtype) {
            return Err(check.error(field, "a dtype that `unsupported` names has no peak"));
        }
        dense_peaks.insert(dtype, figure.times(1e12));
    }
    if entry.devices_per_unit == 0 {
        return Err(check.error("devices_per_unit", "expected at least 1"));
    }
    if entry.package.as_ref().is_some_and(|package| package.units == 0) {
        return Err(check.error("package.units", "expected at least 1"));
    }
    let tflops = check.number("measured_bf16_tflops", entry.measured_bf16_tflops, &TFLOPS)?;
    Ok(Device {
        name: entry.name.clone(),
        vendor: entry.vendor.clone(),
        unit: entry.unit.clone(),
        devices_per_unit: entry.devices_per_unit,
        package: entry.package.clone(),
        measured_bf16_flops_per_second: tflops.map(|tflops| (tflops * 1e12).round()),
        memory_gb: check.figure("memory_gb", entry.memory_gb, &GB)?,
        memory_bytes_per_second: check
            .figure("memory_tb_per_s", entry.memory_tb_per_s, &TB_PER_S)?
            .map(|figure| figure.times(1e12)),
        scaleup: entry.scaleup.as_ref().map(|link| check.link(link)).transpose()?,
        engines: entry.engines.as_ref().map(|engines| check.engines(engines)).transpose()?,
        power_w: check.figure("power_w", entry.power_w, &WATTS)?,
        source: entry.source.clone(),
        unverified: entry.unverified.clone(),
        notes: entry.notes.clone(),
        dense_peaks,
        unsupported: entry.unsupported.clone(),
        names: check.names(entry)?,
    })
}

/// Where a field stands, for its error.
struct Check<'a> {
    label: &'a str,
    device: &'a str,
}

impl Check<'_> {
    fn error(&self, field: &str, message: impl Into<String>) -> CatalogueError {
        CatalogueError::Field {
            label: self.label.to_owned(),
            device: self.device.to_owned(),
            field: field.to_owned(),
            message: message.into(),
        }
    }

    fn figure(
        &self,
        field: &str,
        figure: Option<Figure>,
        possible: &RangeInclusive<f64>,
    ) -> Result<Option<Figure>, CatalogueError> {
        let Some(figure) = figure else { return Ok(None) };
        let (least, most) = figure.bounds();
        if !(possible.contains(&least) && possible.contains(&most)) {
            let (from, to) = (possible.start(), possible.end());
            return Err(self.error(
                field,
                format!("{figure} is not possible: expected {from} to {to}, in the unit of the field's name"),
            ));
        }
        if least > most {
            return Err(self.error(field, format!("{figure}: the range ends below its start")));
        }
        Ok(Some(figure))
    }

    fn number(
        &self,
        field: &str,
        number: Option<f64>,
        possible: &RangeInclusive<f64>,
    ) -> Result<Option<f64>, CatalogueError> {
        Ok(self.figure(field, number.map(Figure::Exact), possible)?.and_then(Figure::exact))
    }

    fn link(&self, link: &LinkEntry) -> Result<Link, CatalogueError> {
        let field = "scaleup.bidirectional_gb_per_s";
        let gb_per_s = self.number(field, link.bidirectional_gb_per_s, &LINK_GB_PER_S)?;
        Ok(Link {
            name: link.link.clone(),
            bidirectional_bytes_per_second: gb_per_s.map(|gb_per_s| (gb_per_s * 1e9).round()),
        })
    }

    fn engines(&self, engines: &EnginesEntry) -> Result<Engines, CatalogueError> {
        let field = "engines.dense_16bit_flop_per_clock";
        Ok(Engines {
            count: engines.count,
            kind: engines.kind.clone(),
            dense_16bit_flop_per_clock: self.number(
                field,
                engines.dense_16bit_flop_per_clock,
                &FLOP_PER_CLOCK,
            )?,
            clock_mhz: self.number("engines.clock_mhz", engines.clock_mhz, &MHZ)?,
            clock_basis: engines.clock_basis,
        })
    }

    fn names(&self, entry: &Entry) -> Result<Names, CatalogueError> {
        let phrases = |field: &str, names: &[String]| {
            let mut phrases = Vec::with_capacity(names.len());
            for name in names {
                let phrase = words(name);
                if phrase.is_empty() {
                    return Err(self.error(field, format!("{name:?} holds no word")));
                }
                if phrases.contains(&phrase) {
                    return Err(self.error(field, format!("{name:?} is listed twice")));
                }
                phrases.push(phrase);
            }
            Ok(phrases)
        };
        if entry.names.is_empty() {
            return Err(self.error("names", "expected at least one name"));
        }
        Ok(Names {
            full: phrases("full_names", &entry.full_names)?,
            phrases: phrases("names", &entry.names)?,
            qualifiers: entry.qualifiers.iter().flat_map(|qualifier| words(qualifier)).collect(),
        })
    }
}

/// A full name means one device; two devices of one name differ in their qualifiers, or could never be told apart.
pub(super) fn check_names(label: &str, devices: &[Device]) -> Result<(), CatalogueError> {
    for (position, device) in devices.iter().enumerate() {
        let check = Check { label, device: &device.name };
        for other in &devices[position + 1..] {
            let (one, two) = (&device.names, &other.names);
            if one.full.iter().any(|name| two.full.contains(name)) {
                return Err(check.error("full_names", format!("{} has the same full name", other.name)));
            }
            let shared = one.phrases.iter().any(|phrase| two.phrases.contains(phrase));
            if shared && one.qualifiers == two.qualifiers {
                let message = format!("{} has the same name and no other qualifier", other.name);
                return Err(check.error("names", message));
            }
        }
    }
    Ok(())
}
