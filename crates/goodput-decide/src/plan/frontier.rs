//! `ask: frontier`: configurations by goodput, cost and time to result, within what quality and memory allow.

use rayon::prelude::*;

use super::answer::{Answer, Picture, Row, Rows, Spot, Unit};
use super::error::PlanError;
use super::fields::{Fields, distinct};
use super::quantity::Quantity;
use super::time::{ToResult, draws};
use super::words::{digits, time};

/// Draws of one configuration, unless stated.
const DRAWS: f64 = 200.0;
/// Configurations of one question.
const MOST: usize = 100_000;

/// A configuration as read.
struct Configuration {
    name: String,
    job: ToResult,
    price: f64,
}

/// A configuration as drawn.
#[derive(Clone, Copy)]
struct Point {
    mean_s: f64,
    p50_s: f64,
    p90_s: f64,
    cost: f64,
    goodput: f64,
    by_deadline: Option<f64>,
}

impl Point {
    /// The same without goodput: no later and no dearer, and earlier or cheaper.
    fn beats(&self, other: &Self) -> bool {
        let no_worse = self.mean_s <= other.mean_s && self.cost <= other.cost;
        no_worse && (self.mean_s < other.mean_s || self.cost < other.cost)
    }

    /// No worse in everything, better in something.
    fn dominates(&self, other: &Self) -> bool {
        let no_worse =
            self.mean_s <= other.mean_s && self.cost <= other.cost && self.goodput >= other.goodput;
        no_worse && (self.mean_s < other.mean_s || self.cost < other.cost || self.goodput > other.goodput)
    }
}

const OWN: [&str; 5] = ["name", "efficiency", "quality", "memory", "infeasible"];

pub(super) fn answer(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name", "deadline", "draws", "efficiency", "options", "grid"])?;
    let deadline_s = fields.get("deadline", Quantity::Span)?;
    let draws = draws(fields, DRAWS)?;
    let mut infeasible = Vec::new();
    let mut configurations = Vec::new();
    for (name, option) in listed(fields)? {
        match why_not(&option)? {
            Some(why) => infeasible.push((name, why)),
            None => {
                let price = option.need("price.per_device_hour", Quantity::Positive)?;
                let job = ToResult::read(&option)?;
                job.drawable(&option, draws)?;
                configurations.push(Configuration { name, price, job });
            }
        }
    }
    let seed = fields.seed();
    let points: Vec<Point> = configurations.par_iter().map(|one| one.draw(seed, draws, deadline_s)).collect();
    let marks = Marks {
        dominated: dominated_by(&points, Point::dominates),
        beaten: dominated_by(&points, Point::beats),
    };
    Ok(report(&configurations, &points, &marks, infeasible, deadline_s.is_some()))
}

impl Configuration {
    fn draw(&self, seed: u64, draws: usize, deadline_s: Option<f64>) -> Point {
        let spread = self.job.job(None).spread(seed, draws, deadline_s);
        let held = spread.mean_held_s * self.job.devices;
        Point {
            mean_s: spread.mean_s,
            p50_s: spread.p50_s,
            p90_s: spread.p90_s,
            cost: held / 3600.0 * self.price,
            goodput: self.job.ideal_device_s / held,
            by_deadline: spread.by_deadline,
        }
    }
}

/// The options as listed, or every combination of the grid's axes.
fn listed<'a>(fields: &Fields<'a>) -> Result<Vec<(String, Fields<'a>)>, PlanError> {
    let mut all = fields.named("options")?;
    for (_, option) in &all {
        option.keys(&OWN)?;
    }
    if let Some(grid) = fields.under("grid")? {
        let mut combined = vec![(String::new(), fields.clone())];
        let mut count = 1_usize;
        for axis in grid.own_keys() {
            let values = grid.named(axis)?;
            count = count.saturating_mul(values.len());
            if values.is_empty() || count > MOST {
                let message = format!("{count} configurations: expected 1 to {MOST}, and no empty axis");
                return Err(PlanError::new(grid.at(axis), message));
            }
            let mut next = Vec::with_capacity(count);
            for (name, fields) in &combined {
                for (own, value) in &values {
                    let joined = if name.is_empty() { own.clone() } else { format!("{name}, {own}") };
                    next.push((joined, fields.with(value)));
                }
            }
            combined = next;
            for (_, value) in &values {
                value.keys(&OWN)?;
            }
        }
        all.extend(combined);
    }
    if all.is_empty() {
        return Err(fields.missing("options", "a list of configurations, or grid: lists to combine"));
    }
    // An option may bear the name of a combination.
    distinct(&all)?;
    Ok(all)
}

/// Quality and memory bound the set; they rank nothing in it.
fn why_not(option: &Fields<'_>) -> Result<Option<String>, PlanError> {
    if let Some(why) = option.text("infeasible")? {
        return Ok(Some(why));
    }
    if let Some(memory) = option.under("memory")? {
        memory.only(&["needed_gb", "device_gb"])?;
        let needed = memory.need("needed_gb", Quantity::Positive)?;
        let device = memory.need("device_gb", Quantity::Positive)?;
        if needed > device {
            return Ok(Some(format!("memory: needs {} GB of {} GB", digits(needed), digits(device))));
        }
    }
    if let Some(quality) = option.under("quality")? {
        quality.only(&["reached", "needed"])?;
        let reached = quality.need("reached", Quantity::Number)?;
        let needed = quality.need("needed", Quantity::Number)?;
        if reached < needed {
            return Ok(Some(format!("quality: reaches {reached} of {needed}")));
        }
    }
    Ok(None)
}

/// For each point one that dominates it, if any: a point of the frontier, because what dominates in time comes first in
/// order of time.
fn dominated_by(points: &[Point], dominates: fn(&Point, &Point) -> bool) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&points[a], &points[b]);
        a.mean_s.total_cmp(&b.mean_s).then(a.cost.total_cmp(&b.cost)).then(b.goodput.total_cmp(&a.goodput))
    });
    let mut dominated = vec![None; points.len()];
    let mut frontier: Vec<usize> = Vec::new();
    for i in order {
        dominated[i] = frontier.iter().copied().find(|&other| dominates(&points[other], &points[i]));
        if dominated[i].is_none() {
            frontier.push(i);
        }
    }
    dominated
}

/// For each point one that is no worse in goodput, cost and time, and one that is no worse in cost and time alone.
struct Marks {
    dominated: Vec<Option<usize>>,
    beaten: Vec<Option<usize>>,
}

fn report(
    configurations: &[Configuration],
    points: &[Point],
    Marks { dominated, beaten }: &Marks,
    infeasible: Vec<(String, String)>,
    deadline: bool,
) -> Answer {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| {
        let rank = |i: usize| (dominated[i].is_some(), beaten[i].is_some());
        rank(a).cmp(&rank(b)).then(points[a].mean_s.total_cmp(&points[b].mean_s))
    });
    let mut answer = Answer::default();
    let count = |n: usize| n as f64;
    let undominated = dominated.iter().filter(|by| by.is_none()).count();
    answer
        .figure("configurations", "configurations", count(points.len() + infeasible.len()), Unit::Count)
        .figure("on_the_frontier", "not dominated", count(undominated), Unit::Count)
        .figure(
            "fastest_at_their_cost",
            "not beaten in time and cost alone",
            count(beaten.iter().filter(|by| by.is_none()).count()),
            Unit::Count,
        )
        .figure("dominated", "dominated", count(points.len() - undominated), Unit::Count)
        .figure("infeasible", "not feasible", count(infeasible.len()), Unit::Count);
    let least = |value: fn(&Point) -> f64| {
        (0..points.len())
            .filter(|&i| dominated[i].is_none())
            .min_by(|&a, &b| value(&points[a]).total_cmp(&value(&points[b])))
    };
    if let (Some(fastest), Some(cheapest)) = (least(|p| p.mean_s), least(|p| p.cost)) {
        answer.verdict = format!(
            "{} of {} configurations are on the frontier. Fastest: {} ({}, cost {}). Cheapest: {} ({}, cost {}).",
            undominated,
            points.len() + infeasible.len(),
            configurations[fastest].name,
            time(points[fastest].mean_s),
            digits(points[fastest].cost),
            configurations[cheapest].name,
            time(points[cheapest].mean_s),
            digits(points[cheapest].cost),
        );
    } else {
        answer.verdict = "No configuration is feasible.".to_owned();
    }
    let mut columns = vec![
        ("mean_s", "time to result, mean", Unit::Seconds),
        ("p50_s", "half by", Unit::Seconds),
        ("p90_s", "nine in ten by", Unit::Seconds),
        ("cost", "cost", Unit::Money),
        ("cost_per_useful_device_hour", "a useful device-hour", Unit::Money),
        ("goodput", "R x P", Unit::Factor),
    ];
    if deadline {
        columns.push(("by_deadline", "by the deadline", Unit::Share));
    }
    let width = columns.len();
    let mut rows: Vec<Row> = order
        .iter()
        .map(|&i| {
            let (point, configuration) = (&points[i], &configurations[i]);
            let mut cells = vec![
                Some(point.mean_s),
                Some(point.p50_s),
                Some(point.p90_s),
                Some(point.cost),
                Some(configuration.price / point.goodput),
                Some(point.goodput),
            ];
            if deadline {
                cells.push(point.by_deadline);
            }
            let named = |by: Option<usize>, how| by.map(|by| format!("{how} {}", configurations[by].name));
            let mark = named(dominated[i], "dominated by")
                .or_else(|| named(beaten[i], "more R x P, but beaten in time and cost by"));
            Row { name: configuration.name.clone(), cells, mark }
        })
        .collect();
    rows.extend(infeasible.into_iter().map(|(name, why)| Row {
        name,
        cells: vec![None; width],
        mark: Some(format!("not feasible: {why}")),
    }));
    answer.rows.push(Rows { title: "Configurations, the frontier first", columns, rows });
    answer.picture = Some(Picture::Frontier(
        order
            .iter()
            .map(|&i| Spot {
                name: configurations[i].name.clone(),
                hours: points[i].mean_s / 3600.0,
                cost: points[i].cost,
                goodput: points[i].goodput,
                dominated: beaten[i].is_some(),
            })
            .collect(),
    ));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_mark_is_right_and_none_is_missing(
            figures in proptest::collection::vec((1_u8..8, 1_u8..8, 1_u8..8), 1..40),
        ) {
            let points: Vec<Point> = figures
                .iter()
                .map(|&(time, cost, goodput)| Point {
                    mean_s: f64::from(time),
                    p50_s: 0.0,
                    p90_s: 0.0,
                    cost: f64::from(cost),
                    goodput: f64::from(goodput),
                    by_deadline: None,
                })
                .collect();
            for dominates in [Point::dominates, Point::beats] {
                for (i, by) in dominated_by(&points, dominates).into_iter().enumerate() {
                    match by {
                        Some(other) => prop_assert!(dominates(&points[other], &points[i])),
                        None => prop_assert!(!points.iter().any(|other| dominates(other, &points[i]))),
                    }
                }
            }
        }
    }
}
