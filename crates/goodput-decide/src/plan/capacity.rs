//! `ask: capacity`: spot, reserved or older devices, by cost per useful unit.

use super::answer::{Answer, Row, Rows, Unit};
use super::error::PlanError;
use super::fields::Fields;
use super::quantity::Quantity;
use super::run::JobRun;
use super::words::{digits, percent, time};

/// One kind of capacity.
struct Kind {
    name: String,
    price: f64,
    runtime: f64,
    program: f64,
    /// Ideal rate of a device, against the first option's.
    speed: f64,
    run: JobRun,
    /// Whether runtime goodput was modelled from interruptions.
    modelled: bool,
}

impl Kind {
    fn read(name: &str, fields: &Fields<'_>) -> Result<Self, PlanError> {
        fields.keys(&["name", "speed"])?;
        let run = JobRun::read(fields)?;
        let stated = fields.has_own("factors.runtime");
        let runtime = match stated {
            true => fields.need("factors.runtime", Quantity::Factor)?,
            false => runtime_goodput(fields, &run)?,
        };
        Ok(Self {
            name: name.to_owned(),
            price: fields.need("price.per_device_hour", Quantity::Positive)?,
            runtime,
            program: fields.need("factors.program", Quantity::Factor)?,
            speed: fields.or("speed", Quantity::Positive, 1.0)?,
            run,
            modelled: !stated,
        })
    }

    /// Price of a useful device-hour at the first option's ideal rate.
    fn cost(&self) -> f64 {
        self.price / (self.runtime * self.program * self.speed)
    }
}

/// Runtime goodput for exponential interruptions, startup included where the held window is stated.
fn runtime_goodput(fields: &Fields<'_>, run: &JobRun) -> Result<f64, PlanError> {
    let steady = run.expected(fields, run.interval_s(fields)?)?;
    let Some(held_s) = fields.get("job.held", Quantity::Span)? else { return Ok(steady) };
    let startup = run.launches * run.startup_s / held_s;
    if startup < 1.0 {
        return Ok(steady * (1.0 - startup));
    }
    let message = format!(
        "{} launches of {} in a held window of {}: nothing is retained; expected startups that fit into `job.held`",
        run.launches,
        time(run.startup_s),
        time(held_s)
    );
    Err(fields.refuse("startup", message))
}

pub(super) fn answer(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name", "options"])?;
    let options = fields.named("options")?;
    if options.len() < 2 {
        return Err(fields.missing("options", "at least two of {name, price, preemption, …} to compare"));
    }
    let kinds =
        options.iter().map(|(name, option)| Kind::read(name, option)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = kinds.first() else { return Ok(Answer::default()) };
    let mut ranked: Vec<&Kind> = kinds.iter().collect();
    ranked.sort_by(|one, other| one.cost().total_cmp(&other.cost()));
    let mut answer = Answer::default();
    let best = ranked[0];
    answer.verdict = format!(
        "{} costs least: {} a useful device-hour at a price of {}.",
        best.name,
        digits(best.cost()),
        digits(best.price)
    );
    if let Some(cheapest) = kinds.iter().min_by(|one, other| one.price.total_cmp(&other.price))
        && cheapest.price < best.price
    {
        answer.verdict +=
            &format!(" {} has the lowest price, and costs {}.", cheapest.name, digits(cheapest.cost()));
    }
    let mut rows = Vec::new();
    for kind in &ranked {
        let ratio = kind.runtime * kind.program * kind.speed / (first.runtime * first.program * first.speed);
        rows.push(Row {
            name: kind.name.clone(),
            cells: vec![
                Some(kind.price),
                Some(kind.runtime),
                Some(kind.program),
                Some(kind.cost()),
                Some(kind.price / first.price),
                Some(ratio),
                kind.break_even_per_day(first).map_err(PlanError::range(fields.path()))?,
            ],
            mark: None,
        });
        if !std::ptr::eq(*kind, first) {
            answer.verdict += &format!(
                " {}: {} of the price of {} for {} of its useful work.",
                kind.name,
                percent(kind.price / first.price),
                first.name,
                percent(ratio)
            );
        }
    }
    answer.figure("least_cost", "least cost of a useful device-hour", best.cost(), Unit::Money).figure(
        "first_cost",
        "the first option's",
        first.cost(),
        Unit::Money,
    );
    answer.rows.push(Rows {
        title: "Capacity, the cheapest useful hour first",
        columns: vec![
            ("price", "price a device-hour", Unit::Money),
            ("runtime_goodput", "runtime goodput", Unit::Factor),
            ("program_goodput", "program goodput", Unit::Factor),
            ("cost", "cost a useful device-hour", Unit::Money),
            ("price_ratio", "price against the first", Unit::Share),
            ("goodput_ratio", "useful work against the first", Unit::Share),
            ("break_even_per_day", "preemptions a day that even it out", Unit::Number),
        ],
        rows,
    });
    Ok(answer)
}

impl Kind {
    /// Preemptions a day at which this option costs as much as `other`; `None` where it is stated or never does.
    fn break_even_per_day(&self, other: &Self) -> Result<Option<f64>, goodput_core::OutOfRange> {
        const MOST: f64 = 1e4;
        if !self.modelled || self.run.evictions_per_s == 0.0 || self.price >= other.price {
            return Ok(None);
        }
        let scale = self.runtime / self.run.expected_runtime_goodput(self.interval_s(&self.run));
        let cost = |per_day: f64| {
            let run = JobRun { evictions_per_s: per_day / 86_400.0, ..self.run };
            let runtime = run.expected_runtime_goodput(self.interval_s(&run)) * scale;
            self.price / (runtime * self.program * self.speed)
        };
        let (mut low, mut high) = (0.0, MOST);
        if cost(low) >= other.cost() || cost(high) < other.cost() {
            return Ok(None);
        }
        for _ in 0..80 {
            let middle = f64::midpoint(low, high);
            if cost(middle) < other.cost() {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(Some(high))
    }

    fn interval_s(&self, run: &JobRun) -> Option<f64> {
        run.every_s.or_else(|| run.best_interval_s())
    }
}
