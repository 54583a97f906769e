//! What the person who asks for a report may say about it.

use goodput_core::OutOfRange;

/// Settings of a view. The defaults suit a terminal.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewSettings {
    /// Title of the report.
    pub title: Option<String>,
    /// Program and version that made it.
    pub generated_by: String,
    /// Price of capacity; no money is shown without it.
    pub price: Option<Price>,
    /// Jobs listed one by one, the largest first; the rest is summed.
    pub job_limit: usize,
    /// Jobs drawn as lanes, the largest first.
    pub lane_limit: usize,
    /// Software that the timelines name: name and version.
    pub software: Vec<(String, String)>,
    /// Coarsest resolution of the stamps in nanoseconds.
    pub stamp_resolution_ns: Option<i64>,
}

/// What an hour of one device costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    per_device_hour: f64,
    currency: String,
}

impl Price {
    /// `per_device_hour` in `currency`, as it is to be printed.
    ///
    /// # Errors
    /// [`OutOfRange`] for a price that is negative or no number.
    pub fn new(per_device_hour: f64, currency: impl Into<String>) -> Result<Self, OutOfRange> {
        if per_device_hour.is_finite() && per_device_hour >= 0.0 {
            return Ok(Self { per_device_hour, currency: currency.into() });
        }
        let (name, expected) = ("price per device-hour", "a finite number of zero or more");
        Err(OutOfRange { name, value: per_device_hour, expected })
    }

    /// Price per device-hour.
    pub fn per_device_hour(&self) -> f64 {
        self.per_device_hour
    }

    /// Currency, as it is to be printed.
    pub fn currency(&self) -> &str {
        &self.currency
    }
}

impl Default for ViewSettings {
    fn default() -> Self {
        Self {
            title: None,
            generated_by: concat!("goodput ", env!("CARGO_PKG_VERSION")).to_owned(),
            price: None,
            job_limit: 1000,
            lane_limit: 20,
            software: Vec::new(),
            stamp_resolution_ns: None,
        }
    }
}
