//! Finding a device by whatever name a tool prints.

use std::sync::LazyLock;

use super::name::{Words, words};
use super::{CatalogueError, Device, Dtype, NoPeak, yaml};

/// The devices that are known. [`Catalogue::with_yaml`] adds a site's own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Catalogue {
    devices: Vec<Device>,
}

/// Why no single device has a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownDevice {
    /// No device is called so.
    #[error(
        "no device called {name:?} is known{}; add it with a device file (docs/devices.md) or state its peak",
        list("; near names: ", near)
    )]
    NotFound {
        /// The name as given.
        name: String,
        /// Names that are like it.
        near: Vec<String>,
    },
    /// Several are, and the figure asked for differs between them.
    #[error("{name:?} may be any of {}: name one of them", candidates.join(", "))]
    Ambiguous {
        /// The name as given.
        name: String,
        /// The devices that it may be.
        candidates: Vec<String>,
    },
}

fn list(lead: &str, names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("{lead}{}", names.join(", ")) }
}

/// Why there is no peak for a name and a dtype.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PeakError {
    /// Which device it is cannot be told.
    #[error(transparent)]
    Device(#[from] UnknownDevice),
    /// The device has no such peak.
    #[error(transparent)]
    NoPeak(#[from] NoPeak),
}

/// A dense peak and whose it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Peak {
    /// Of one device as torch or JAX counts them, in FLOP/s.
    pub flops_per_second: f64,
    /// The arithmetic.
    pub dtype: Dtype,
    /// The device; several if the name may be any of them and all share this peak.
    pub device: String,
}

impl Catalogue {
    /// The devices that come with this crate.
    #[must_use]
    pub fn built_in() -> &'static Self {
        // A test reads the file, so that the empty catalogue is never seen.
        static BUILT_IN: LazyLock<Catalogue> = LazyLock::new(|| {
            Catalogue::default().with_yaml("devices.yaml", include_str!("devices.yaml")).unwrap_or_default()
        });
        &BUILT_IN
    }

    /// This catalogue and the devices of a file (docs/devices.md). A device of the same name replaces ours.
    ///
    /// ```
    /// use goodput_model::device::{Catalogue, Dtype};
    /// let ours = Catalogue::built_in().clone().with_yaml("ours.yaml", "
    /// devices:
    ///   - name: Falcon-1
    ///     vendor: Ours
    ///     names: [Falcon-1]
    ///     dense_peaks: {bf16_tflops: 100}
    ///     source: measured here
    /// ")?;
    /// assert_eq!(ours.find("falcon-1")?.peak(Dtype::Bf16)?, 100e12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CatalogueError`] for a file that is no such list, a figure that is not positive or cannot be in the unit of
    /// its field, or a name that would mean two devices.
    pub fn with_yaml(mut self, label: &str, text: &str) -> Result<Self, CatalogueError> {
        for device in yaml::read(label, text)? {
            let name = words(&device.name);
            match self.devices.iter_mut().find(|known| words(&known.name) == name) {
                Some(known) => *known = device,
                None => self.devices.push(device),
            }
        }
        yaml::check_names(label, &self.devices)?;
        Ok(self)
    }

    /// Every device, in the order of the file.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The device of a name as `nvidia-smi`, torch, JAX, a Slurm gres or a person writes it. Whole words are
    /// compared, in any order and case; a full name of a driver means one device, any other name that may be
    /// several is refused.
    ///
    /// # Errors
    /// [`UnknownDevice`] with near names, or with the devices that it may be.
    pub fn find(&self, name: &str) -> Result<&Device, UnknownDevice> {
        match self.candidates(name)?.as_slice() {
            [device] => Ok(device),
            several => Err(ambiguous(name, several)),
        }
    }

    /// The dense peak of a device by name: also where the name may be several devices, if all of them share it.
    ///
    /// # Errors
    /// [`PeakError`] as [`Catalogue::find`] and [`Device::peak`].
    pub fn peak(&self, name: &str, dtype: Dtype) -> Result<Peak, PeakError> {
        let candidates = self.candidates(name)?;
        let mut peaks = candidates.iter().map(|device| device.peak(dtype));
        let mut shared = peaks.next().unwrap_or_else(|| {
            Err(NoPeak::NotKnown { device: name.to_owned(), dtype, known: String::new() })
        });
        for peak in peaks {
            match (&shared, &peak) {
                (Ok(one), Ok(other)) if one == other => {}
                (Err(NoPeak::Unsupported { .. }), Err(NoPeak::Unsupported { .. })) => shared = peak,
                _ => return Err(ambiguous(name, &candidates).into()),
            }
        }
        let names: Vec<_> = candidates.iter().map(|device| device.name.as_str()).collect();
        Ok(Peak { flops_per_second: shared?, dtype, device: names.join(" / ") })
    }

    /// Every device that a name may mean; at least one.
    ///
    /// # Errors
    /// [`UnknownDevice::NotFound`].
    pub fn candidates(&self, name: &str) -> Result<Vec<&Device>, UnknownDevice> {
        let asked = words(name);
        if let Some(device) = self.devices.iter().find(|device| device.names.full.contains(&asked)) {
            return Ok(vec![device]);
        }
        let called: Vec<_> = self.devices.iter().filter(|device| device.is_called(&asked)).collect();
        if called.is_empty() {
            return Err(UnknownDevice::NotFound { name: name.to_owned(), near: self.near(&asked) });
        }
        Ok(called)
    }

    /// Devices whose model number the name holds first, then those of the most similar spelling.
    fn near(&self, asked: &Words) -> Vec<String> {
        const MOST: usize = 4;
        const LEAST_SIMILARITY: f64 = 0.55;
        let spelled = spell(asked);
        let mut near: Vec<(f64, &str)> = Vec::new();
        for device in &self.devices {
            let phrases = &device.names.phrases;
            let has_digit = |word: &String| word.bytes().any(|byte| byte.is_ascii_digit());
            let held = phrases.iter().flatten().any(|word| has_digit(word) && asked.contains(word));
            let names = phrases.iter().map(spell).chain([spell(&words(&device.name))]);
            let likeness =
                names.map(|name| strsim::normalized_damerau_levenshtein(&spelled, &name)).fold(0.0, f64::max);
            if held || likeness >= LEAST_SIMILARITY {
                near.push((likeness + f64::from(u8::from(held)), &device.name));
            }
        }
        near.sort_by(|one, other| other.0.total_cmp(&one.0));
        near.into_iter().take(MOST).map(|(_, name)| name.to_owned()).collect()
    }
}

fn spell(words: &Words) -> String {
    words.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn ambiguous(name: &str, candidates: &[&Device]) -> UnknownDevice {
    let candidates = candidates.iter().map(|device| device.name.clone()).collect();
    UnknownDevice::Ambiguous { name: name.to_owned(), candidates }
}

impl Device {
    fn is_called(&self, asked: &Words) -> bool {
        let vendor = self.vendor_words();
        self.names.phrases.iter().any(|phrase| {
            phrase.is_subset(asked)
                && asked
                    .difference(phrase)
                    .all(|word| self.names.qualifiers.contains(word) || vendor.contains(&word.as_str()))
        })
    }

    /// Words that its maker puts before every name.
    fn vendor_words(&self) -> Vec<&str> {
        match self.vendor.as_str() {
            "NVIDIA" => vec!["nvidia"],
            "AMD" => vec!["amd", "instinct"],
            "Google" => vec!["google", "cloud"],
            "AWS" => vec!["aws", "amazon"],
            "Intel" => vec!["intel"],
            _ => Vec::new(),
        }
    }
}
