//! Figures inside the sentences of an answer.

/// A duration in the unit in which it has one to three digits before the point.
pub(super) fn time(seconds: f64) -> String {
    let (value, unit) = match seconds.abs() {
        s if !s.is_finite() => return "never".to_owned(),
        s if s >= 2.0 * 86_400.0 => (seconds / 86_400.0, "d"),
        s if s >= 2.0 * 3600.0 => (seconds / 3600.0, "h"),
        s if s >= 2.0 * 60.0 => (seconds / 60.0, "min"),
        s if s >= 1.0 || s == 0.0 => (seconds, "s"),
        s if s >= 1e-3 => (seconds * 1e3, "ms"),
        _ => (seconds * 1e6, "µs"),
    };
    format!("{} {unit}", digits(value))
}

/// Three significant digits, all of the whole ones with commas between thousands, and no needless zeros.
pub(super) fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 || v == 0.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = if value < 0.0 { "-".to_owned() } else { String::new() };
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    match fraction.trim_end_matches('0') {
        "" => out,
        fraction => format!("{out}.{fraction}"),
    }
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent != 0.0 && percent.abs() < 0.1 { format!("{percent:.3} %") } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_in_sentences() {
        assert_eq!(
            (digits(295_890.4), digits(-1234.0), digits(7.0)),
            ("295,890".into(), "-1,234".into(), "7".into())
        );
        assert_eq!(
            (time(900.0), time(5.2 * 60.0), time(0.815)),
            ("15 min".into(), "5.2 min".into(), "815 ms".into())
        );
        assert_eq!((percent(0.25), percent(0.0005)), ("25.0 %".into(), "0.050 %".into()));
    }
}
