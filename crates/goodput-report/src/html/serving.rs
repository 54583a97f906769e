//! The page of `goodput serving`.

use super::drawings::{self, Drawing, Segment, StackRow};
use super::page::{Block, Page, Section, Tile, contract_blocks, read_section, timing, warning_section};
use super::palette;
use crate::number::{device_hours, duration, percent};
use crate::table;
use crate::view::{Exact, ServingRowView, ServingView};
use crate::words;

pub(super) fn page(view: &ServingView) -> Page {
    let mut sections = vec![ready_time(view)];
    sections.push(deployments(view));
    sections.extend(traced(view));
    sections.extend(pools(view));
    sections.push(lifetimes(view));
    sections.extend(lanes(view));
    sections.push(contract(view));
    sections.push(read_section(&view.read_report));
    sections.extend(warning_section(&view.warnings));
    Page {
        title: words::serving_title(view),
        window: words::window(&view.contract.window),
        lines: vec![words::SERVING_SCOPE.to_owned()],
        generated_by: view.generated_by.clone(),
        levels: Vec::new(),
        parts: Vec::new(),
        headline: view.rows.iter().take(3).flat_map(tiles).collect(),
        sections,
    }
}

fn tiles(row: &ServingRowView) -> Vec<Tile> {
    let shown = [
        ("serving runtime goodput", "runtime"),
        ("serving program goodput: decode, weights floor", "program_decode_weights"),
        ("serving program goodput: decode, weights + KV floor", "program_decode_weights_and_kv"),
        ("serving program goodput: prefill, arithmetic ideal", "program_prefill"),
    ];
    shown
        .into_iter()
        .filter_map(|(name, key)| {
            let measure = row.measures.iter().find(|measure| measure.key == key)?;
            let note = format!("{}, over {}", words::serving_row_title(row), measure.denominator);
            Some(Tile { name, value: words::serving_factors(row, key), note })
        })
        .collect()
}

/// Segments of a row, leaving out what is nothing.
fn stack(
    name: String,
    total: String,
    parts: &[(&'static str, &'static str, Exact)],
    whole: Exact,
) -> StackRow {
    let segment = |&(name, colour, ns): &(&'static str, &'static str, Exact)| Segment {
        name,
        colour,
        value: ns.capacity().share_of(whole.capacity()).unwrap_or(0.0),
        text: format!(
            "{} device-hours, {}",
            device_hours(ns.capacity()),
            percent(ns.capacity().share_of(whole.capacity()))
        ),
    };
    StackRow { name, segments: parts.iter().filter(|(.., ns)| ns.0 > 0).map(segment).collect(), total }
}

fn ready_time(view: &ServingView) -> Section {
    let row = |row: &ServingRowView| {
        let work = &row.work;
        let less = |whole: Exact, ideal: Option<Exact>| Exact(whole.0 - ideal.unwrap_or_default().0);
        let [decode, prefill] =
            [(work.decode_ns, work.decode_ideal_weights_ns), (work.prefill_ns, work.prefill_ideal_ns)];
        let parts = [
            ("decode at its weights floor", palette::USEFUL, decode.1.unwrap_or_default()),
            ("decode below it", "#b868a8", less(decode.0, decode.1)),
            ("prefill at its arithmetic ideal", "#56b4e9", prefill.1.unwrap_or_default()),
            ("prefill below it", "#7b4fa0", less(prefill.0, prefill.1)),
            ("headroom", "#c9a6dc", work.headroom_ns),
            ("work unknown", palette::OPEN, work.work_unknown_ns),
        ];
        let total = format!("{} h", device_hours(row.ready_ns.capacity()));
        stack(words::serving_row_title(row), total, &parts, row.ready_ns)
    };
    let rows: Vec<_> = view.rows.iter().map(row).collect();
    Section {
        id: "ready",
        title: "Where ready time went",
        intro: "Device-hours in which replicas could answer. Decode is measured against bandwidth and prefill against arithmetic: the two \
                ideals stand side by side and have no sum."
            .to_owned(),
        blocks: vec![Block::Drawing(drawings::stacks("ready-time", None, "Where ready time went", &rows, None))],
    }
}

fn deployments(view: &ServingView) -> Section {
    Section {
        id: "deployments",
        title: "Deployments",
        intro: "One after the other, each against its own ideals.".to_owned(),
        blocks: view.rows.iter().enumerate().flat_map(|(index, shown)| row(index, shown)).collect(),
    }
}

fn row(index: usize, row: &ServingRowView) -> Vec<Block> {
    let mut blocks = vec![
        Block::Heading(words::serving_row_title(row)),
        Block::Lines([words::serving_basis(row), words::serving_work(row)].concat()),
        Block::Table("Measures under their full names".to_owned(), table::serving_measures(row)),
        Block::Table(
            "Losses, each once; decode under its weights floor".to_owned(),
            table::serving_losses(row),
        ),
    ];
    blocks.extend(decode_step(index, row).map(Block::Drawing));
    if !row.decode_terms.is_empty() {
        blocks.push(Block::Table("Its terms".to_owned(), table::decode_terms(row)));
    }
    blocks.push(Block::Notes(words::decode_model(row)));
    blocks.push(Block::Table("Levers".to_owned(), table::serving_levers(row)));
    blocks
}

const WEIGHTS: &str = palette::USEFUL;
const KV: &str = "#56b4e9";
const EXCHANGE: &str = "#b07aa1";
const DISPATCH: &str = "#e69f00";

/// The terms of a mean decode step as one bar; `None` where no sample divides it. What no sample says stays open.
fn decode_step(index: usize, row: &ServingRowView) -> Option<Drawing> {
    let known: Vec<_> =
        row.decode_terms.iter().filter_map(|term| Some((term, term.share?, term.step_ns?))).collect();
    let divided = known.iter().any(|(term, ..)| matches!(term.term, "exchange" | "dispatch"));
    let colour = |term: &str| match term {
        "weights" => WEIGHTS,
        "kv" => KV,
        "exchange" => EXCHANGE,
        "dispatch" => DISPATCH,
        _ => palette::OPEN,
    };
    let mut segments: Vec<Segment> = known
        .iter()
        .map(|(term, share, ns)| Segment {
            name: term.label,
            colour: colour(term.term),
            value: *share,
            text: format!("{}, {}", duration(*ns as i64), percent(Some(*share))),
        })
        .collect();
    let rest = 1.0 - known.iter().map(|(_, share, _)| share).sum::<f64>();
    if rest > 1e-9 {
        let text = percent(Some(rest));
        segments.push(Segment {
            name: "not divided by the samples",
            colour: palette::OPEN,
            value: rest,
            text,
        });
    }
    let whole = known.iter().find_map(|(_, share, ns)| (*share > 0.0).then_some(ns / share))?;
    let bar = StackRow { name: "its terms".to_owned(), segments, total: duration(whole as i64) };
    divided.then(|| {
        drawings::stacks(
            &format!("decode-step-{index}"),
            Some("A mean decode step".to_owned()),
            "Terms of a mean decode step",
            &[bar],
            None,
        )
    })
}

/// A decode step by what traces charge it to.
fn traced(view: &ServingView) -> Option<Section> {
    let (traced, line) = (view.traced.as_ref()?, words::traced_decode(view)?);
    let parts = [
        ("kernels, reading weights and cache among them", WEIGHTS, traced.compute_share),
        ("exposed exchange", EXCHANGE, traced.exchange_share),
        ("host dispatch", DISPATCH, traced.dispatch_share),
        ("launched and not started", "#f0c987", traced.launch_share),
        ("copies", KV, traced.memory_share),
        ("unattributed", palette::OPEN, traced.unattributed_share),
    ];
    let segments = parts
        .into_iter()
        .filter(|(.., share)| *share > 0.0)
        .map(|(name, colour, value)| Segment { name, colour, value, text: percent(Some(value)) });
    let mean = traced.total_ns / i64::try_from(traced.steps.max(1)).unwrap_or(i64::MAX);
    let bar =
        StackRow { name: "traced steps".to_owned(), segments: segments.collect(), total: duration(mean) };
    let drawing = drawings::stacks("traced-step", None, "The traced decode step", &[bar], None);
    Some(Section {
        id: "traced",
        title: "The traced decode step",
        intro: "Device-time of the traced steps, every nanosecond charged once.".to_owned(),
        blocks: vec![Block::Drawing(drawing), Block::Lines(vec![line])],
    })
}

fn pools(view: &ServingView) -> Option<Section> {
    let mut blocks = Vec::new();
    if !view.pools.is_empty() {
        blocks.push(Block::Table("Pools".to_owned(), table::serving_pools(view)));
    }
    blocks.extend(words::placement_wait(view).map(|line| Block::Lines(vec![line])));
    (!blocks.is_empty()).then(|| Section {
        id: "pools",
        title: "Capacity that becomes whole replicas held",
        intro: String::new(),
        blocks,
    })
}

fn lifetimes(view: &ServingView) -> Section {
    let rows: Vec<_> = view
        .lifetimes
        .iter()
        .map(|range| {
            let other = Exact(range.held_ns.0 - range.ready_ns.0 - range.cold_start_ns.0);
            let parts = [
                ("ready", palette::USEFUL, range.ready_ns),
                ("cold start", "#f4b183", range.cold_start_ns),
                ("failures, drains, unsettled", "#b5524a", other),
            ];
            let total = words::lives(range.lives);
            stack(range.lifetime.to_owned(), total, &parts, range.held_ns)
        })
        .collect();
    let drawing = drawings::stacks("lifetimes", None, "Held time by lifetime", &rows, None);
    let mut blocks = vec![
        Block::Drawing(drawing),
        Block::Table("Readiness by lifetime".to_owned(), table::serving_lifetimes(view)),
    ];
    let curve = table::readiness_curve(view);
    blocks
        .extend(curve.map(|curve| Block::Table("The median cold start against lifetime".to_owned(), curve)));
    Section {
        id: "lifetimes",
        title: "Becoming ready, by how long a replica lives",
        intro: "The same minutes weigh more on a short life. A warm pool does not remove them: it turns them into headroom."
            .to_owned(),
        blocks,
    }
}

fn contract(view: &ServingView) -> Section {
    let contract = &view.contract;
    let types =
        if contract.device_types.is_empty() { "not stated" } else { &contract.device_types.join(", ") };
    let [held, productive, resolution] = timing(&contract.timing_boundary);
    let definitions = vec![
        ("window", format!("{} to {}, half-open", contract.window.from, contract.window.to)),
        ("scope", "serving: no ratio, sum or mean with training".to_owned()),
        ("denominator", contract.denominator.replace('_', " ")),
        ("devices", format!("at most {} at once ({types})", contract.devices)),
        held,
        productive,
        resolution,
        ("made by", view.generated_by.clone()),
    ];
    Section {
        id: "contract",
        title: "The contract",
        intro: "Two reports may be compared when these agree.".to_owned(),
        blocks: contract_blocks(&contract.known, &contract.statistics, definitions),
    }
}

fn lanes(view: &ServingView) -> Option<Section> {
    let drawing = drawings::replicas(&view.lanes, &view.contract.window)?;
    let mut blocks = vec![Block::Drawing(drawing)];
    if view.lanes.omitted > 0 {
        blocks.push(Block::Notes(vec![format!("{} more replicas are not drawn.", view.lanes.omitted)]));
    }
    Some(Section { id: "lanes", title: "What each replica did", intro: String::new(), blocks })
}
