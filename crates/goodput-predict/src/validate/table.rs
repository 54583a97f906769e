//! Outcomes as a CSV of one row each, for whoever analyses errors elsewhere.

use std::io::Write;

use super::blame::Blame;
use super::evaluate::Evaluation;
use crate::layer::Term;

/// Writes measured and predicted time, error and terms of each row, in the file's order. Columns of terms are seconds of the
/// predicted step and carry the words of the report: `launch (s)`.
///
/// # Errors
/// What the writer refuses.
pub fn write_outcomes(evaluation: &Evaluation<'_>, to: impl Write) -> Result<(), csv::Error> {
    let blame = Blame::of(evaluation);
    let mut writer = csv::Writer::from_writer(to);
    let head =
        ["id", "source_key", "software", "model", "device", "measured_s", "predicted_s", "error", "blame"];
    let terms = Term::ALL.map(|term| format!("{} (s)", term.label()));
    writer.write_record(head.into_iter().chain(terms.iter().map(String::as_str)))?;
    for outcome in &evaluation.outcomes {
        let (row, (measured_ns, predicted_ns)) = (outcome.row, outcome.pair());
        let seconds = |ns: f64| format!("{:.9}", ns / 1e9);
        let texts = [&row.id, &row.source, &row.software, &row.model, &row.device];
        let figures = [
            seconds(measured_ns),
            seconds(predicted_ns),
            format!("{:.6}", outcome.relative_error()),
            blame.of_row(outcome).map_or("", Term::label).to_owned(),
        ];
        let terms =
            Term::ALL.map(|term| outcome.predicted.terms.map_or_else(String::new, |t| seconds(t.of(term))));
        writer.write_record(texts.into_iter().chain(&figures).chain(&terms))?;
    }
    writer.flush()?;
    Ok(())
}
