//! The page of `goodput account`.

use super::charts::{self, Chart};
use super::page::{
    Block, Page, Section, Tile, contract_section, levels, published_section, read_section, warning_section,
};
use goodput_core::Owner;

use crate::name::cut;
use crate::number::{UNKNOWN, count, counted, device_hours, factor, gain, money};
use crate::table::{self, Detail};
use crate::view::AccountView;
use crate::words;

/// Jobs beside the published runs.
const PUBLISHED_JOBS: usize = 8;
/// Jobs whose loss is drawn against size, the first of them open.
const MODELLED_JOBS: usize = 5;

/// Pools whose series is drawn, beside the fleet's.
const POOL_SERIES: usize = 8;

pub(super) fn page(view: &AccountView) -> Page {
    let mut sections = vec![losses(view), over_time(view)];
    sections.extend(lanes(view));
    sections.push(levers(view));
    sections.push(pools(view));
    sections.push(cohorts(view));
    sections.push(jobs(view));
    sections.extend(model(view));
    sections.extend(published(view));
    sections.push(read_section(&view.read_report));
    sections.extend(warning_section(&view.warnings));
    sections.push(contract_section(&view.contract, &view.generated_by));
    Page {
        title: words::fleet_title(view),
        window: words::window(&view.contract.window),
        lines: words::fleet_contract(view),
        generated_by: view.generated_by.clone(),
        levels: levels(&view.ledger, &view.losses),
        parts: Vec::new(),
        headline: headline(view),
        sections,
    }
}

fn headline(view: &AccountView) -> Vec<Tile> {
    let mut tiles = vec![Tile {
        name: "MPG",
        value: factor(view.ledger.factors.mpg),
        note: format!(
            "scheduling x runtime x program, {}",
            view.ledger.factor_bounds.mpg.map(words::coverage).unwrap_or_default()
        ),
    }];
    if let Some(cost) = &view.cost {
        tiles.push(Tile {
            name: "a useful device-hour",
            value: cost
                .per_useful_device_hour
                .map_or_else(|| UNKNOWN.to_owned(), |c| money(c, &cost.currency)),
            note: words::price_basis(cost),
        });
    }
    if let Some(lever) = view.levers.iter().find(|l| !l.open && l.kind.owner() != Owner::Evidence) {
        tiles.push(Tile {
            name: "largest lever",
            value: lever.relative_gain.map_or_else(|| "unbounded".to_owned(), gain),
            note: format!("at most, from {}: {} ({})", lever.label, lever.lever, lever.owner_label),
        });
    }
    tiles
}

fn losses(view: &AccountView) -> Section {
    let mut drawn = vec![charts::fleet_waterfall(&view.ledger, &view.losses)];
    drawn.extend(charts::opened(&view.ledger, &view.losses));
    let mut blocks = vec![
        Block::Charts(drawn),
        Block::Notes(words::open(&view.ledger, &view.losses).into_iter().collect()),
        Block::Table(
            "Every loss, the largest first".to_owned(),
            table::losses(&view.losses, "of offered", Detail::Full),
        ),
        Block::FoldedTable("The chain in figures".to_owned(), table::chain(&view.ledger)),
        Block::Notes([Some(words::tiers(view)), words::held_by_state(view)].into_iter().flatten().collect()),
    ];
    if view.workload_classes.len() > 1 {
        blocks.push(Block::Table(
            "Jobs by the ideal that their program goodput divides by".to_owned(),
            table::classes(&view.workload_classes),
        ));
    }
    Section {
        id: "losses",
        title: "Where the capacity went",
        intro: "Each solid bar is what is left after a boundary, each slice what that boundary lost. Every device-hour \
                is charged once, to the first boundary it fails to cross; the second chart opens the runtime slice."
            .to_owned(),
        blocks,
    }
}

fn over_time(view: &AccountView) -> Section {
    let mut blocks = Vec::new();
    let mut pools = 0;
    for (i, series) in view.series.iter().enumerate() {
        let Some(chart) = charts::over_time(&format!("series-{i}"), series) else { continue };
        match &series.pool {
            None => blocks.push(Block::Charts(vec![chart])),
            Some(_) if view.pools.len() < 2 || pools == POOL_SERIES => {}
            Some(pool) => {
                pools += 1;
                blocks.push(Block::FoldedChart(format!("Pool {pool}"), chart));
            }
        }
    }
    if blocks.is_empty() {
        blocks.push(Block::Lines(vec!["The records give no series.".to_owned()]));
    }
    Section {
        id: "over-time",
        title: "Offered, held and the queue over time",
        intro: format!(
            "Free devices in service stood idle for {} device-hours while a job of their pool waited, and for {} while none \
             did. Drag over a stretch to see it closer, double-click to see all of it.",
            device_hours(view.pools.iter().map(|p| p.diagnostics.free_queue_waiting_ns.capacity()).sum()),
            device_hours(view.pools.iter().map(|p| p.diagnostics.free_queue_empty_ns.capacity()).sum())
        ),
        blocks,
    }
}

fn lanes(view: &AccountView) -> Option<Section> {
    let chart = charts::lanes(&view.lanes, &view.contract.window, |lane, is_first| {
        if !is_first {
            return format!("attempt {}", lane.attempt);
        }
        let name = view.jobs.iter().find(|job| job.id == lane.job).map_or("", |job| job.name.as_str());
        format!("{} {} · {}", cut(&lane.job, 12), cut(name, 16), counted(lane.devices, "device"))
    })?;
    let omitted = view.lanes.jobs_omitted;
    let rest = if omitted > 0 { format!("; {} more are not drawn", count(omitted)) } else { String::new() };
    Some(Section {
        id: "lanes",
        title: "What the largest jobs did",
        intro: format!(
            "One lane an attempt, for the {} with a timeline that held most{rest}. Stretches shorter than {} are drawn \
             as part of what surrounds them; the figures are exact.",
            counted(view.lanes.jobs, "job"),
            crate::number::duration(view.lanes.resolution_ns.as_i64())
        ),
        blocks: vec![Block::Charts(vec![chart])],
    })
}

fn levers(view: &AccountView) -> Section {
    let currency = view.cost.as_ref().map(|c| c.currency.as_str());
    let mut blocks: Vec<_> =
        charts::levers(&view.levers, currency).into_iter().map(|chart| Block::Charts(vec![chart])).collect();
    blocks.extend(words::withheld(&view.levers).map(|note| Block::Notes(vec![note])));
    blocks.push(Block::Table(
        "Levers, the largest gain first".to_owned(),
        table::levers(&view.levers, currency, Detail::Full),
    ));
    blocks.push(Block::Notes(words::worth_of_a_point(&view.ledger)));
    Section {
        id: "levers",
        title: "Which lever returns the most",
        intro: "A lever multiplies MPG by what it does to its own factor, so the ranking differs from that of the losses."
            .to_owned(),
        blocks,
    }
}

fn pools(view: &AccountView) -> Section {
    let mut blocks: Vec<_> =
        charts::unheld(&view.pools).into_iter().map(|chart| Block::Charts(vec![chart])).collect();
    blocks.push(Block::Table("Pools".to_owned(), table::pools(&view.pools, Detail::Full)));
    blocks.push(Block::FoldedTable(
        "Diagnostics of each pool, in device-hours".to_owned(),
        table::diagnostics(&view.pools),
    ));
    Section { id: "pools", title: "Unheld capacity by cause and pool",
        intro: "Each pool against its own queue. Where only another pool's jobs wait, a pool has no eligible demand; the \
                fleet's losses above count that time as a capability mismatch (another device type) or as blocked by \
                quota (the same type)."
            .to_owned(),
         blocks }
}

fn cohorts(view: &AccountView) -> Section {
    let mut blocks: Vec<_> =
        charts::waits(&view.cohorts).into_iter().map(|chart| Block::Charts(vec![chart])).collect();
    blocks.push(Block::Table(
        "Cohorts by gang size, account and partition".to_owned(),
        table::cohorts(&view.cohorts, Detail::Full),
    ));
    Section { id: "cohorts", title: "Who waits, and how long", intro: String::new(), blocks }
}

/// The jobs that saw failures: nothing of the model of others depends on size.
fn model(view: &AccountView) -> Option<Section> {
    let modelled = view.jobs.iter().enumerate().filter_map(|(i, job)| {
        let chart = charts::size_curve(&format!("size-curve-{i}"), job.composed.as_ref()?)?;
        Some((
            format!("{} {} · {}", cut(&job.id, 12), cut(&job.name, 24), counted(job.devices, "device")),
            chart,
        ))
    });
    let mut blocks = Vec::new();
    for (name, chart) in modelled.take(MODELLED_JOBS) {
        if blocks.is_empty() {
            blocks.push(Block::Charts(vec![Chart { title: Some(name), ..chart }]));
        } else {
            blocks.push(Block::FoldedChart(name, chart));
        }
    }
    (!blocks.is_empty()).then(|| Section {
        id: "size",
        title: "Runtime loss against job size",
        intro: "The first-order model of each job with failures: the time between failures shrinks in proportion to size, everything \
                else stays as measured. goodput timeline has the figures."
            .to_owned(),
        blocks,
    })
}

fn published(view: &AccountView) -> Option<Section> {
    let own = view.jobs.iter().filter_map(|job| {
        let basis = job.program_basis.as_ref()?;
        let name = format!("{} {}", cut(&job.id, 12), cut(&job.name, 20));
        Some(charts::OwnMfu { name, mfu: basis.mfu, convention: basis.convention.clone() })
    });
    published_section(&own.take(PUBLISHED_JOBS).collect::<Vec<_>>())
}

fn jobs(view: &AccountView) -> Section {
    Section {
        id: "jobs",
        title: "Jobs that lose the most inside their allocations",
        intro: "The last column says which record to open next; the notes below the table say why."
            .to_owned(),
        blocks: vec![Block::Table(
            "Jobs by what they lost".to_owned(),
            table::jobs(&view.jobs, &view.jobs_omitted, Detail::Full),
        )],
    }
}
