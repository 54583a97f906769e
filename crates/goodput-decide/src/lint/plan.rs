//! What of a plan (`goodput plan`) the checks can judge: its factors, and whether it states a quality.

use goodput_core::Boundary;
use serde_json::{Map, Value};

use super::sheet::{Figure, FigureKind, Sheet};

/// A plan as the figures of a sheet. Its questions are answered, and refused, by `goodput plan` itself.
pub(super) fn sheet(plan: &Map<String, Value>) -> Sheet {
    let figure = |boundary: Boundary| {
        let (kind, value) = (kind(boundary), number(plan.get("factors")?.get(boundary.key())?)?);
        Some(Figure { name: boundary.key().to_owned(), value, kind, ..Figure::default() })
    };
    Sheet {
        title: plan.get("title").and_then(Value::as_str).map(str::to_owned),
        quality_gate: plan.values().any(states_quality).then(|| "of a question".to_owned()),
        figures: Boundary::ALL.into_iter().filter_map(figure).collect(),
        ..Sheet::default()
    }
}

const fn kind(boundary: Boundary) -> FigureKind {
    match boundary {
        Boundary::Scheduling => FigureKind::SchedulingGoodput,
        Boundary::Runtime => FigureKind::RuntimeGoodput,
        Boundary::Program => FigureKind::ProgramGoodput,
    }
}

fn states_quality(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| key == "quality" || states_quality(value)),
        Value::Array(list) => list.iter().any(states_quality),
        _ => false,
    }
}

/// A number as plans write it: plain, `65 %`, `14.9/31.0`, or one of these under `value`. What comes from a report has been
/// measured there.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::Object(map) => number(map.get("value")?),
        Value::String(text) => {
            let plain = |text: &str| text.trim().parse::<f64>().ok();
            if let Some(percent) = text.trim().strip_suffix('%') {
                return plain(percent).map(|percent| percent / 100.0);
            }
            match text.split_once('/') {
                Some((above, below)) => Some(plain(above)? / plain(below)?),
                None => plain(text),
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sheet::Sheet;

    #[test]
    fn factors_of_a_plan_are_read() {
        let plan = "factors: {scheduling: {value: 0.65, measured: true}, runtime: 90 %, program: 14.9/31.01504}\nquestions: [fleet]";
        let sheet = Sheet::from_yaml("plan.yaml", plan).unwrap();
        let factors = sheet.all_factors().unwrap();
        assert!((factors[1] - 0.9).abs() < 1e-12 && (factors[2] - 0.480_412).abs() < 1e-6);
        assert!(sheet.quality_gate.is_none());
    }
}
