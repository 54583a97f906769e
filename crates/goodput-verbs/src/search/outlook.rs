//! Numbers of devices, and what lies between a step and a result.

use goodput_predict::run::Run;
use goodput_predict::search::Outlook;

use super::SearchRequest;
use crate::error::VerbError;

/// Numbers of devices that one call tries.
const MOST_NUMBERS: usize = 4096;

/// `64`, `8..512` (doubled from the first up to the last), `8..64:8` (in steps).
pub(super) fn devices(given: &[String]) -> Result<Vec<u32>, VerbError> {
    let mut all = Vec::new();
    for text in given {
        let bad = || {
            VerbError::new(format!("--devices {text}: expected a number above 0, or a range"))
                .help("write 64, 8..512 (8, 16, 32, … 512) or 8..64:8 (8, 16, 24, … 64)")
        };
        // One more than the most, so that a range of millions is refused before it is listed.
        let room = MOST_NUMBERS + 1;
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number > 0);
        let (low, rest) = text.split_once("..").unwrap_or((text, text));
        let (high, step) = match rest.split_once(':') {
            Some((high, step)) => (high, Some(number(step).ok_or_else(bad)?)),
            None => (rest, None),
        };
        let (low, high) = number(low).zip(number(high)).filter(|(low, high)| low <= high).ok_or_else(bad)?;
        let next = |&now: &u32| match step {
            Some(step) => now.checked_add(step),
            None => now.checked_mul(2),
        };
        all.extend(std::iter::successors(Some(low), next).take_while(|number| *number <= high).take(room));
        if all.len() > MOST_NUMBERS {
            let message =
                format!("--devices {text}: more than {MOST_NUMBERS} numbers of devices in one call");
            let remedy =
                "write low..high, which doubles, or a larger step after the colon, such as 8..65536:64";
            return Err(VerbError::new(message).help(remedy));
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// `None` without tokens.
pub(super) fn outlook(request: &SearchRequest, run: &Run) -> Result<Option<Outlook>, VerbError> {
    let Some(tokens) = request.tokens else {
        let alone = [("--queue-wait", &request.queue_wait), ("--runtime-goodput", &request.runtime_goodput)];
        return match alone.into_iter().find(|(_, given)| !given.is_empty()) {
            Some((option, _)) => {
                Err(VerbError::new(format!("{option} is about a result: give --tokens too")))
            }
            None => Ok(None),
        };
    };
    if !(tokens.is_finite() && tokens > 0.0) {
        return Err(VerbError::new(format!("--tokens {tokens}: expected a number above 0, such as 1e12")));
    }
    let of_a_step = (run.batch.global * run.batch.sequence) as f64;
    Ok(Some(Outlook {
        steps: (tokens / of_a_step).ceil(),
        queue_wait_ns: by_devices("--queue-wait", &request.queue_wait, "24h, 30m or 512=24h", wait_ns)?,
        runtime_goodput: by_devices(
            "--runtime-goodput",
            &request.runtime_goodput,
            "0.9 or 512=0.85",
            |text| text.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0),
        )?,
    }))
}

/// `VALUE`, or `DEVICES=VALUE`.
fn by_devices(
    option: &str,
    given: &[String],
    expected: &str,
    value: impl Fn(&str) -> Option<f64>,
) -> Result<Vec<(Option<u32>, f64)>, VerbError> {
    let read = |text: &String| {
        let (devices, rest) = match text.split_once('=') {
            Some((devices, rest)) => (Some(devices.trim().parse().ok()?), rest),
            None => (None, text.as_str()),
        };
        Some((devices, value(rest.trim())?))
    };
    let of = |text| read(text).ok_or_else(|| VerbError::new(format!("{option} {text}: expected {expected}")));
    given.iter().map(of).collect()
}

/// A wait with its unit: s, m, h or d.
fn wait_ns(text: &str) -> Option<f64> {
    let seconds = [("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];
    let (number, unit) =
        seconds.into_iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))?;
    number
        .trim()
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && *number >= 0.0)
        .map(|n| n * unit * 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Result<Vec<u32>, VerbError> {
        devices(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn ranges_double_or_step() {
        assert_eq!(of(&["8..64", "48"]).unwrap(), [8, 16, 32, 48, 64]);
        assert_eq!(of(&["8..32:8"]).unwrap(), [8, 16, 24, 32]);
        for bad in ["0", "64..8", "x", "8..", "8..64:0"] {
            assert!(of(&[bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn more_numbers_than_a_call_tries_are_refused_with_what_to_write() {
        assert_eq!(of(&["1..4096:1"]).unwrap().len(), 4096);
        for many in ["1..4097:1", "1..1000000:1", "1..4294967295:1"] {
            let error = of(&[many]).unwrap_err();
            assert!(error.to_string().contains(many) && error.to_string().contains("4096"), "{error}");
            assert!(error.remedy().unwrap().contains("larger step"));
        }
        assert!(of(&["1..4096:1", "5000"]).is_err());
    }

    #[test]
    fn waits_have_units() {
        assert_eq!(
            (wait_ns("24h"), wait_ns("90 s"), wait_ns("1.5d")),
            (Some(86_400e9), Some(90e9), Some(129_600e9))
        );
        assert_eq!((wait_ns("24"), wait_ns("-1h"), wait_ns("")), (None, None, None));
    }
}
