//! Quantities as PLAN.yaml writes them: a duration always with its unit, a share plain or in percent, and either as a
//! ratio of two numbers (`0.05/0.65`) where a rounded one would not do.

use serde_json::Value;

/// What a field holds, and so which values have a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Seconds, zero or more.
    Duration,
    /// Seconds, above zero.
    Span,
    /// Device-seconds, above zero.
    DeviceTime,
    /// Between 0 and 1.
    Share,
    /// Above 0 and at most 1.
    Factor,
    /// Zero or more.
    Number,
    /// Above zero.
    Positive,
    /// A whole number above zero.
    Count,
}

const DURATIONS: [(&str, f64); 19] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("second", 1.0),
    ("seconds", 1.0),
    ("min", 60.0),
    ("minute", 60.0),
    ("minutes", 60.0),
    ("h", 3600.0),
    ("hour", 3600.0),
    ("hours", 3600.0),
    ("d", 86_400.0),
    ("day", 86_400.0),
    ("days", 86_400.0),
    ("w", 604_800.0),
    ("week", 604_800.0),
    ("weeks", 604_800.0),
];

impl Quantity {
    /// What would do, with an example to copy.
    pub const fn expected(self) -> &'static str {
        match self {
            Self::Duration => "a duration of zero or more with its unit, such as 9.8 s, 15 min or 302 h",
            Self::Span => "a duration above zero with its unit, such as 9.8 s, 15 min or 302 h",
            Self::DeviceTime => "device-time above zero with its unit, such as 9300 device-hours",
            Self::Share => "a share between 0 and 1, such as 0.05, 5 % or 0.05/0.65",
            Self::Factor => "a factor above 0 and at most 1, such as 0.65 or 65 %",
            Self::Number => "a finite number of zero or more",
            Self::Positive => "a finite number above zero",
            Self::Count => "a whole number above zero",
        }
    }

    /// The unit of what [`Self::read`] returns, as JSON names it.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Duration | Self::Span => "s",
            Self::DeviceTime => "device_s",
            Self::Share | Self::Factor => "share",
            Self::Number | Self::Positive => "number",
            Self::Count => "count",
        }
    }

    /// A value in base units as a person would write it: with its unit, and no more digits than a person reads.
    pub(super) fn written(self, value: f64) -> String {
        let digits = |value: f64| format!("{value:.4e}").parse().unwrap_or(value);
        match self {
            Self::Duration | Self::Span => super::words::time(value),
            Self::DeviceTime => format!("{} device-hours", digits(value / 3600.0)),
            Self::Count => value.to_string(),
            Self::Share | Self::Factor | Self::Number | Self::Positive => digits(value).to_string(),
        }
    }

    /// The value in base units; `None` when it is no such quantity or out of its range.
    pub fn read(self, value: &Value) -> Option<f64> {
        let read = match value {
            Value::Number(number) if !matches!(self, Self::Duration | Self::Span | Self::DeviceTime) => {
                number.as_f64()?
            }
            Value::String(text) => self.parse(text.trim())?,
            _ => return None,
        };
        self.admits(read).then_some(read)
    }

    /// Whether a value has a meaning.
    pub fn admits(self, value: f64) -> bool {
        value.is_finite()
            && match self {
                Self::Duration | Self::Number => value >= 0.0,
                Self::Span | Self::DeviceTime | Self::Positive => value > 0.0,
                Self::Share => (0.0..=1.0).contains(&value),
                Self::Factor => value > 0.0 && value <= 1.0,
                Self::Count => value >= 1.0 && value.fract() == 0.0,
            }
    }

    fn parse(self, text: &str) -> Option<f64> {
        let end = text
            .char_indices()
            .find(|&(at, c)| {
                let exponent = matches!(c, 'e' | 'E')
                    && text[at + 1..]
                        .starts_with(|next: char| next.is_ascii_digit() || matches!(next, '-' | '+'));
                !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '/' | ' ' | '_') || exponent)
            })
            .map_or(text.len(), |(at, _)| at);
        let (number, unit) = (ratio(text[..end].trim())?, text[end..].trim());
        match self {
            Self::Duration | Self::Span => Some(number * seconds(unit)?),
            Self::DeviceTime => Some(number * seconds(unit.strip_prefix("device-")?)?),
            Self::Share | Self::Factor if unit == "%" => Some(number / 100.0),
            _ => unit.is_empty().then_some(number),
        }
    }
}

fn seconds(unit: &str) -> Option<f64> {
    DURATIONS.iter().find(|(name, _)| *name == unit).map(|(_, seconds)| *seconds)
}

fn ratio(text: &str) -> Option<f64> {
    let number = |text: &str| text.trim().replace('_', "").parse::<f64>().ok();
    match text.split_once('/') {
        Some((over, under)) => Some(number(over)? / number(under)?),
        None => number(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(Quantity::Duration, json!("6.2 min"), Some(372.0))]
    #[case(Quantity::Duration, json!("30min"), Some(1800.0))]
    #[case(Quantity::Duration, json!("2e-3 s"), Some(0.002))]
    #[case(Quantity::Duration, json!("245 ms"), Some(0.245))]
    #[case(Quantity::Duration, json!(15), None)]
    #[case(Quantity::Duration, json!("15"), None)]
    #[case(Quantity::Duration, json!("-1 h"), None)]
    #[case(Quantity::Duration, json!("3 months"), None)]
    #[case(Quantity::Span, json!("0 s"), None)]
    #[case(Quantity::Share, json!("0.05/0.65"), Some(0.05 / 0.65))]
    #[case(Quantity::Share, json!("7.5 %"), Some(0.075))]
    #[case(Quantity::Share, json!(1.2), None)]
    #[case(Quantity::Share, json!("1/0"), None)]
    #[case(Quantity::DeviceTime, json!("2 device-hours"), Some(7200.0))]
    #[case(Quantity::Count, json!(0), None)]
    #[case(Quantity::Count, json!(1.5), None)]
    #[case(Quantity::Positive, json!(null), None)]
    #[case(Quantity::Positive, json!("nan"), None)]
    fn quantities_as_they_are_written(
        #[case] quantity: Quantity,
        #[case] value: Value,
        #[case] expected: Option<f64>,
    ) {
        assert_eq!(quantity.read(&value), expected);
    }

    #[test]
    fn what_is_written_reads_back() {
        for (quantity, value) in [
            (Quantity::Duration, 0.0),
            (Quantity::Span, 604_800.0),
            (Quantity::DeviceTime, 7200.0),
            (Quantity::Share, 0.0),
            (Quantity::Count, 1.0),
            (Quantity::Positive, 1.0),
        ] {
            let text = quantity.written(value);
            assert_eq!(quantity.read(&json!(text)), Some(value), "{text}");
        }
        assert_eq!(Quantity::Duration.written(1_273.710_073_710_073_6), "21.2 min");
        assert_eq!(Quantity::Factor.written(0.942_143_586_998_456_8), "0.94214");
        assert_eq!(Quantity::Count.written(131_072.0), "131072");
    }
}
