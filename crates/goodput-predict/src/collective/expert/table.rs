//! Measured exchanges, and those put together from the nearest measured ones.

use std::sync::LazyLock;

use crate::cluster::Cluster;

use super::super::GroupShape;
use super::{ExpertExchange, Phase, places_of_a_token};

const FILE: &str = include_str!("../../../data/collective/expert_exchange.csv");

#[derive(Debug, Clone, PartialEq)]
struct Curve {
    device: &'static str,
    phase: Phase,
    nodes: u32,
    devices: u32,
    hidden: u32,
    topk: u32,
    experts: u32,
    sms: u32,
    /// Nanoseconds at the table's numbers of tokens.
    ns: Vec<f64>,
}

struct Table {
    tokens: Vec<f64>,
    curves: Vec<Curve>,
}

fn read(text: &'static str) -> Option<Table> {
    let mut lines = text.lines();
    let tokens: Result<_, _> = lines.next()?.split(',').skip(9).map(str::parse).collect();
    let curves = lines.map(|line| {
        let mut fields = line.split(',');
        let device = fields.next()?;
        let _lib = fields.next()?;
        let phase = if fields.next()? == "dispatch" { Phase::Dispatch } else { Phase::Combine };
        let mut number = || fields.next()?.parse().ok();
        let (nodes, devices, hidden, topk, experts, sms) =
            (number()?, number()?, number()?, number()?, number()?, number()?);
        let times: Result<Vec<f64>, _> = fields.map(str::parse::<f64>).collect();
        let mut ns: Vec<f64> = times.ok()?.into_iter().map(|us| us * 1e3).collect();
        // Noise among small numbers of tokens must not make more of them faster.
        (1..ns.len()).for_each(|index| ns[index] = ns[index].max(ns[index - 1]));
        Some(Curve { device, phase, nodes, devices, hidden, topk, experts, sms, ns })
    });
    Some(Table { tokens: tokens.ok()?, curves: curves.collect::<Option<_>>()? })
}

fn table() -> Option<&'static Table> {
    static BUILT_IN: LazyLock<Option<Table>> = LazyLock::new(|| read(FILE));
    BUILT_IN.as_ref()
}

/// Times of an exchange, put together from the nearest measured ones.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    ns: Vec<f64>,
    /// Whether this very exchange was measured.
    pub(super) exact: bool,
}

/// The shape that was measured with every number of multiprocessors and nodes, and the number that every shape has.
const FULL_SHAPE: (u32, u32, u32) = (7168, 8, 256);
const USUAL_SMS: u32 = 20;

impl Measured {
    pub(super) fn find(cluster: &Cluster, shape: GroupShape, exchange: &ExpertExchange) -> Option<Self> {
        let whole_nodes = shape.size == shape.nodes * shape.per_node && shape.stride == 1;
        if !whole_nodes || (exchange.number_bytes - exchange.phase.usual_bytes()).abs() > 1e-9 {
            return None;
        }
        let of_group: Vec<&Curve> = table()?
            .curves
            .iter()
            .filter(|curve| curve.device == cluster.device && curve.phase == exchange.phase)
            .filter(|curve| curve.nodes == shape.nodes && curve.devices == shape.size)
            .collect();
        let wanted = (exchange.hidden, exchange.topk, exchange.experts);
        let is_full = |curve: &Curve| (curve.hidden, curve.topk, curve.experts) == FULL_SHAPE;
        let full: Vec<_> = of_group.iter().copied().filter(|curve| is_full(curve)).collect();
        let at_sms = |sms: u32| full.iter().copied().find(|curve| curve.sms == sms);
        // How the number of multiprocessors changes the full shape; a number between two takes the lower, which is slower.
        let sms = full.iter().map(|curve| curve.sms).filter(|sms| *sms <= exchange.sms).max()?;
        let (own, usual) = (at_sms(sms)?, at_sms(USUAL_SMS)?);
        if wanted == FULL_SHAPE {
            return Some(Self { ns: own.ns.clone(), exact: sms == exchange.sms });
        }
        let exact = of_group.iter().find(|curve| {
            (curve.hidden, curve.topk, curve.experts, curve.sms) == (wanted.0, wanted.1, wanted.2, USUAL_SMS)
        });
        let base = match exact {
            Some(curve) => curve.ns.clone(),
            None => by_payload(&of_group, exchange, shape)?,
        };
        let ns =
            base.iter().zip(&own.ns).zip(&usual.ns).map(|((time, own), usual)| time * own / usual).collect();
        Some(Self { ns, exact: exact.is_some() && exchange.sms == USUAL_SMS })
    }

    /// Nanoseconds, and whether the tokens lie beyond the measured ones.
    pub(super) fn ns(&self, tokens: f64) -> (f64, bool) {
        let Some(table) = table() else { return (0.0, true) };
        let sizes = &table.tokens;
        let last = sizes.len() - 1;
        if tokens <= sizes[0] {
            return (self.ns[0], false);
        }
        if tokens >= sizes[last] {
            let a_token = (self.ns[last] - self.ns[last - 1]) / (sizes[last] - sizes[last - 1]);
            return (self.ns[last] + (tokens - sizes[last]) * a_token, tokens > sizes[last]);
        }
        let above = sizes.partition_point(|size| *size <= tokens);
        let (low, high) = (above - 1, above);
        let weight = (tokens / sizes[low]).ln() / (sizes[high] / sizes[low]).ln();
        (self.ns[low] * (self.ns[high] / self.ns[low]).powf(weight), false)
    }
}

/// Times of a shape that was not measured: between the two whose tokens weigh next less and next more, else in proportion
/// to the bytes beyond what a single token costs.
fn by_payload(curves: &[&Curve], exchange: &ExpertExchange, shape: GroupShape) -> Option<Vec<f64>> {
    let payload = |hidden: u32, topk: u32| f64::from(hidden) * places_of_a_token(topk, shape.size);
    let wanted = payload(exchange.hidden, exchange.topk);
    let usual = || curves.iter().copied().filter(|curve| curve.sms == USUAL_SMS);
    let of = |curve: &&Curve| payload(curve.hidden, curve.topk);
    let low = usual().filter(|curve| of(curve) <= wanted).max_by(|a, b| of(a).total_cmp(&of(b)));
    let high = usual().filter(|curve| of(curve) >= wanted).min_by(|a, b| of(a).total_cmp(&of(b)));
    match (low, high) {
        (Some(low), Some(high)) => {
            let span = (of(&high) / of(&low)).ln();
            let weight = if span > 0.0 { (wanted / of(&low)).ln() / span } else { 0.0 };
            Some(low.ns.iter().zip(&high.ns).map(|(low, high)| low * (high / low).powf(weight)).collect())
        }
        (Some(near), None) | (None, Some(near)) => {
            let ratio = wanted / of(&near);
            Some(near.ns.iter().map(|time| near.ns[0] + (time - near.ns[0]) * ratio).collect())
        }
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_holds_every_curve() {
        let table = read(FILE).unwrap();
        assert_eq!((table.curves.len(), table.tokens.len()), (352, 23));
    }

    /// Each measured shape of one node left out in turn and put back from those of next weight.
    #[test]
    fn a_shape_left_out_comes_back_from_its_neighbours() {
        let table = table().unwrap();
        let mut errors = Vec::new();
        for left_out in table.curves.iter().filter(|curve| curve.nodes == 1 && curve.sms == USUAL_SMS) {
            let others: Vec<&Curve> = table
                .curves
                .iter()
                .filter(|curve| {
                    (curve.device, curve.phase, curve.devices)
                        == (left_out.device, left_out.phase, left_out.devices)
                        && curve.nodes == 1
                        && (curve.hidden, curve.topk) != (left_out.hidden, left_out.topk)
                })
                .collect();
            let exchange = ExpertExchange {
                phase: left_out.phase,
                hidden: left_out.hidden,
                topk: left_out.topk,
                experts: left_out.experts,
                sms: USUAL_SMS,
                number_bytes: left_out.phase.usual_bytes(),
            };
            let shape = GroupShape {
                size: left_out.devices,
                nodes: 1,
                per_node: left_out.devices,
                stride: 1,
                concurrent: 1,
            };
            let back = by_payload(&others, &exchange, shape).unwrap();
            errors.extend(
                back.iter().zip(&left_out.ns).map(|(back, truth)| (back / truth - 1.0).abs() * 100.0),
            );
        }
        errors.sort_by(f64::total_cmp);
        let (median, p90) = (errors[errors.len() / 2], errors[errors.len() * 9 / 10]);
        println!("exchange of a shape left out: median {median:.1} %, p90 {p90:.1} %");
        assert!(median <= 10.0, "{median}");
    }
}
