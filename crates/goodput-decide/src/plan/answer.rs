//! What a question is answered with: figures, rows, a picture, and every input with where it came from.

/// What a figure is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// A share of a whole that the label names.
    Share,
    /// A factor between 0 and 1.
    Factor,
    /// A plain ratio or number.
    Number,
    /// A count of things that the label names.
    Count,
    /// Hours of one device.
    DeviceHours,
    /// Money in the plan's currency.
    Money,
}

impl Unit {
    /// The word in JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Share => "share",
            Self::Factor => "factor",
            Self::Number => "number",
            Self::Count => "count",
            Self::DeviceHours => "device_hours",
            Self::Money => "money",
        }
    }
}

/// One figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its key, with the unit where it has one.
    pub key: &'static str,
    /// The figure in words.
    pub label: &'static str,
    /// Its value.
    pub value: f64,
    /// What it is measured in.
    pub unit: Unit,
}

/// Options, sizes or terms side by side.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// What the rows are.
    pub title: &'static str,
    /// Key, heading and unit of each column.
    pub columns: Vec<(&'static str, &'static str, Unit)>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What it is about.
    pub name: String,
    /// A figure a column; `None` where it has none.
    pub cells: Vec<Option<f64>>,
    /// What to know of it: `dominated by …`, `not feasible: …`.
    pub mark: Option<String>,
}

/// A picture of the answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Picture {
    /// Lines over a common axis.
    Curves {
        /// The horizontal axis with its unit.
        x: &'static str,
        /// The vertical axis with its unit.
        y: &'static str,
        /// Lines by name.
        lines: Vec<(String, Vec<(f64, f64)>)>,
        /// Points that stand out, by name.
        marks: Vec<(String, f64, f64)>,
    },
    /// Options by time and cost.
    Frontier(Vec<Spot>),
}

/// One option of a frontier.
#[derive(Debug, Clone, PartialEq)]
pub struct Spot {
    /// Its name.
    pub name: String,
    /// Hours to the result.
    pub hours: f64,
    /// Money for the whole result.
    pub cost: f64,
    /// Runtime times program goodput.
    pub goodput: f64,
    /// Whether another option is no worse in time and cost, and better in one.
    pub dominated: bool,
}

/// Where an input came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Written in the plan without a word on its origin.
    Assumed,
    /// Written in the plan as measured.
    Measured,
    /// Read from a report.
    Report {
        /// The file.
        file: String,
        /// Which of its figures.
        how: String,
    },
    /// Not written: the question's default.
    Default,
}

impl Source {
    /// Whether a measurement stands behind it.
    #[must_use]
    pub const fn is_measured(&self) -> bool {
        matches!(self, Self::Measured | Self::Report { .. })
    }
}

/// An input that an answer rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Where it stands in the plan.
    pub field: String,
    /// As written, or as the report gives it.
    pub text: String,
    /// In base units.
    pub value: f64,
    /// `s`, `share`, `count`, `number` or `device_s`.
    pub unit: &'static str,
    /// Where it came from.
    pub source: Source,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// The word after `ask`.
    pub question: String,
    /// Its name in the plan, where it has one.
    pub name: Option<String>,
    /// The decision in a sentence or two.
    pub verdict: String,
    /// Figures, the most important first.
    pub figures: Vec<Figure>,
    /// Options, sizes or terms.
    pub rows: Vec<Rows>,
    /// A picture.
    pub picture: Option<Picture>,
    /// What it rests on.
    pub inputs: Vec<Input>,
    /// What to know before trusting it.
    pub warnings: Vec<String>,
}

impl Answer {
    /// Adds a figure.
    pub(super) fn figure(
        &mut self,
        key: &'static str,
        label: &'static str,
        value: f64,
        unit: Unit,
    ) -> &mut Self {
        self.figures.push(Figure { key, label, value, unit });
        self
    }

    /// The value of a figure by key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.key == key).map(|figure| figure.value)
    }
}
