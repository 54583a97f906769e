//! Figures as people read them: thousands separators, units, and no more digits than they carry.

use goodput_core::{CapacityTime, Timestamp};

/// `value` with `decimals` digits after the point and commas between thousands.
pub(crate) fn thousands(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    let plain = format!("{:.*}", decimals, value.abs());
    let (whole, fraction) = plain.split_once('.').map_or((plain.as_str(), None), |(w, f)| (w, Some(f)));
    let mut out = String::with_capacity(plain.len() + plain.len() / 3 + 1);
    if value < 0.0 && plain.bytes().any(|b| b.is_ascii_digit() && b != b'0') {
        out.push('-');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// What stands where a figure is not known.
pub(crate) const UNKNOWN: &str = "–";

/// A count.
pub(crate) fn count(n: u64) -> String {
    whole(n.into())
}

/// A count beyond 64 bits, to the last digit.
pub(crate) fn whole(n: u128) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: `1 job`, `2 jobs`.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Device-hours: whole ones above a hundred, three significant digits below.
pub(crate) fn device_hours(amount: CapacityTime) -> String {
    hours(amount.device_hours())
}

/// Hours: whole ones above a hundred, three significant digits below.
pub(crate) fn hours(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 || v == 0.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        v if v >= 0.1 => 3,
        v if v >= 0.01 => 4,
        v if v >= 0.001 => 5,
        v if v >= 0.0001 => 6,
        _ => return if value < 0.0 { ">-0.0001".to_owned() } else { "<0.0001".to_owned() },
    };
    thousands(value, decimals)
}

/// A share as a percentage with one digit after the point.
pub(crate) fn percent(share: Option<f64>) -> String {
    match share {
        Some(s) if s.is_finite() => match s * 100.0 {
            p if p != 0.0 && p.abs() < 0.05 => if p < 0.0 { ">-0.1%" } else { "<0.1%" }.to_owned(),
            p => format!("{}%", thousands(p, 1)),
        },
        _ => UNKNOWN.to_owned(),
    }
}

/// A share as a percentage with two digits after the point: the digits that a quoted MFU carries.
pub(crate) fn two_decimal_percent(share: f64) -> String {
    format!("{}%", thousands(share * 100.0, 2))
}

/// A figure with five significant digits, or all of its whole ones.
pub(crate) fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return thousands(value, 0);
    }
    let whole_digits = value.abs().log10().floor() + 1.0;
    thousands(value, (5.0 - whole_digits).clamp(0.0, 9.0) as usize)
}

/// A relative gain, with its sign.
pub(crate) fn gain(gain: f64) -> String {
    let text = percent(Some(gain));
    if text.starts_with(['<', '>', '-']) { text } else { format!("+{text}") }
}

/// A factor between zero and one.
pub(crate) fn factor(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map_or_else(|| UNKNOWN.to_owned(), |v| format!("{v:.3}"))
}

/// Money per something, or a sum of money.
pub(crate) fn money(value: f64, currency: &str) -> String {
    format!("{} {currency}", amount(value))
}

/// An amount of money whose currency is said elsewhere.
pub(crate) fn amount(value: f64) -> String {
    thousands(value, if value.abs() >= 1000.0 { 0 } else { 2 })
}

/// A duration in the two largest units that matter.
pub(crate) fn duration(ns: i64) -> String {
    const SECOND: i64 = 1_000_000_000;
    let sign = if ns < 0 { "-" } else { "" };
    let abs = ns.saturating_abs();
    let seconds = abs / SECOND;
    let pair = |a: i64, a_unit: &str, b: i64, b_unit: &str| {
        if b == 0 { format!("{sign}{a} {a_unit}") } else { format!("{sign}{a} {a_unit} {b} {b_unit}") }
    };
    match seconds {
        s if s >= 86_400 => pair(s / 86_400, "d", s % 86_400 / 3600, "h"),
        s if s >= 3600 => pair(s / 3600, "h", s % 3600 / 60, "min"),
        s if s >= 60 => pair(s / 60, "min", s % 60, "s"),
        _ => {
            let (value, unit) = match abs {
                0 => return "0 s".to_owned(),
                n if n >= SECOND => (n as f64 / 1e9, "s"),
                n if n >= 1_000_000 => (n as f64 / 1e6, "ms"),
                n if n >= 1_000 => (n as f64 / 1e3, "µs"),
                n => return format!("{sign}{n} ns"),
            };
            let decimals = if value >= 100.0 || value.fract() == 0.0 {
                0
            } else if value >= 10.0 {
                1
            } else {
                2
            };
            format!("{sign}{value:.decimals$} {unit}")
        }
    }
}

/// A rate or amount with an SI prefix: `14.9 PFLOP`.
pub(crate) fn si(value: f64, unit: &str) -> String {
    const PREFIXES: [&str; 9] = ["", "k", "M", "G", "T", "P", "E", "Z", "Y"];
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    let mut scaled = value;
    let mut prefix = 0;
    while scaled.abs() >= 1000.0 && prefix + 1 < PREFIXES.len() {
        scaled /= 1000.0;
        prefix += 1;
    }
    let decimals = if scaled.abs() >= 100.0 || prefix == 0 {
        0
    } else if scaled.abs() >= 10.0 {
        1
    } else {
        2
    };
    format!("{} {}{unit}", thousands(scaled, decimals), PREFIXES[prefix])
}

/// An instant as RFC 3339, in UTC.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(at.as_nanos()))
        .map_or_else(|_| format!("{} ns", at.as_nanos()), |t| t.to_string())
}

/// An instant for people: `2026-11-30 04:00` with seconds only where they are not zero.
pub(crate) fn instant(at: Timestamp) -> String {
    let text = rfc3339(at);
    let Some((date, time)) = text.split_once('T') else { return text };
    let time = time.trim_end_matches('Z');
    let time = time.split_once('.').map_or(time, |(whole, _)| whole);
    format!("{date} {}", time.strip_suffix(":00").unwrap_or(time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(0.0, 0, "0")]
    #[case(999.4, 0, "999")]
    #[case(999.5, 0, "1,000")]
    #[case(1234567.891, 1, "1,234,567.9")]
    #[case(-1234.5, 1, "-1,234.5")]
    #[case(-0.01, 1, "0.0")]
    #[case(f64::NAN, 1, "–")]
    fn separates_thousands(#[case] value: f64, #[case] decimals: usize, #[case] text: &str) {
        assert_eq!(thousands(value, decimals), text);
    }

    #[rstest]
    #[case(0, "0 s")]
    #[case(250, "250 ns")]
    #[case(245_000_000, "245 ms")]
    #[case(12_340_000_000, "12.3 s")]
    #[case(2_000_000_000, "2 s")]
    #[case(372_000_000_000, "6 min 12 s")]
    #[case(11_520_000_000_000, "3 h 12 min")]
    #[case(604_800_000_000_000, "7 d")]
    #[case(-1_500_000_000, "-1.50 s")]
    fn names_the_two_largest_units(#[case] ns: i64, #[case] text: &str) {
        assert_eq!(duration(ns), text);
    }

    #[test]
    fn keeps_small_amounts_visible() {
        assert_eq!(percent(Some(0.0001)), "<0.1%");
        assert_eq!(percent(Some(0.35)), "35.0%");
        assert_eq!(hours(0.0000001), "<0.0001");
        assert_eq!(hours(0.0009956), "0.000996");
        assert_eq!(si(14.9e15, "FLOP"), "14.9 PFLOP");
    }
}
