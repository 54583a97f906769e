//! PLAN.yaml: inputs once, then questions. Every answer shows what it rests on and which of that was measured.
//!
//! ```
//! use goodput_decide::plan::Sheet;
//! let sheet = Sheet::read(
//!     "reliability: {mtbf: 302 h, recovery: 6.2 min}\ncheckpoint: {write: 9.8 s}\nquestions: [cadence]",
//!     &mut |file| Err(format!("{file} is not there")),
//! )?;
//! let answers = sheet.answers()?;
//! assert!((answers[0].get("interval_s").unwrap_or_default() / 60.0 - 76.94).abs() < 0.01);
//! # Ok::<(), goodput_decide::plan::PlanError>(())
//! ```

mod answer;
mod build;
mod cadence;
mod capacity;
mod error;
mod fields;
mod fleet;
mod frontier;
mod levers;
mod measured;
mod monte_carlo;
mod planning;
mod pool;
mod quantity;
mod question;
mod run;
mod runtime;
mod sheet;
mod sizing;
mod staging;
mod straggler;
mod time;
mod words;

pub use answer::{Answer, Figure, Input, Picture, Row, Rows, Source, Spot, Unit};
pub use error::PlanError;
pub use sheet::Sheet;

use std::cell::RefCell;

use serde_json::Value;

use fields::{Fields, Used};
use question::Question;

impl Sheet {
    /// Answers every question, in order.
    ///
    /// # Errors
    /// [`PlanError`] names the field that is missing or cannot be, and what is needed.
    pub fn answers(&self) -> Result<Vec<Answer>, PlanError> {
        (0..self.questions.len()).map(|i| self.answer(i)).collect()
    }

    fn answer(&self, i: usize) -> Result<Answer, PlanError> {
        let own = &self.questions[i];
        let path = format!("questions[{i}]");
        let words: Vec<_> = Question::words().collect();
        let question = match own.get("ask") {
            Some(Value::String(word)) => Question::of(word).ok_or_else(|| {
                PlanError::new(format!("{path}.ask"), format!("{word} {}", error::unknown(word, &words)))
            })?,
            _ => {
                let message = format!("missing: expected one of {}", words.join(", "));
                return Err(PlanError::new(format!("{path}.ask"), message));
            }
        };
        let used = RefCell::new(Used::default());
        let fields = Fields::new(self, path, own, &used);
        let mut answer = question.answer(&fields)?;
        answer.name = fields.text("name")?;
        answer.question = own.get("ask").and_then(Value::as_str).unwrap_or_default().to_owned();
        drop(fields);
        answer.inputs = used.into_inner().into_inputs();
        Ok(answer)
    }

    /// Currency of the plan's prices, as written.
    #[must_use]
    pub fn currency(&self) -> Option<&str> {
        self.shared.get("price")?.get("currency")?.as_str()
    }
}
