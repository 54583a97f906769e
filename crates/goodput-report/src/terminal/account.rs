//! `goodput account` on a terminal.

use super::page::Column::{Number, Text};
use super::page::{Page, TerminalStyle, cut};
use super::parts;
use crate::number::{UNKNOWN, count, counted, device_hours, duration, factor, money, percent};
use crate::view::{AccountView, CohortView, CostView, Exact, JobView, PoolView};

/// Jobs that a terminal page lists.
const JOBS: usize = 10;
/// Cohorts of one kind that a terminal page lists.
const COHORTS: usize = 8;
/// Columns that a name may take.
const NAME: usize = 24;

pub(super) fn render(view: &AccountView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    header(&mut page, view);
    page.heading("The chain");
    chain(&mut page, view);
    page.heading("Losses");
    parts::losses(&mut page, &view.losses, "of offered");
    parts::levers(&mut page, &view.levers, view.cost.as_ref().map(|c| c.currency.as_str()));
    if let Some(cost) = &view.cost {
        price(&mut page, cost);
    }
    pools(&mut page, &view.pools);
    cohorts(&mut page, &view.cohorts);
    jobs(&mut page, view);
    parts::read_report(&mut page, &view.read_report);
    parts::warnings(&mut page, &view.warnings);
    page.finish()
}

fn header(page: &mut Page, view: &AccountView) {
    let contract = &view.contract;
    page.heading(view.title.as_deref().unwrap_or("Fleet account"));
    page.line(&parts::window(&contract.window));
    let types = contract.device_types.join(", ");
    let denominator = match contract.denominator {
        "installed" => "offered is installed capacity: out-of-service time is a loss",
        _ => "offered is in-service capacity: out-of-service time stands beside it",
    };
    page.line(&format!(
        "{}{}; {denominator}",
        counted(contract.devices, "device"),
        if types.is_empty() { String::new() } else { format!(" ({types})") }
    ));
    page.line(&format!(
        "timelines cover {} of held time; node snapshots cover {} of the window; availability {}",
        percent(contract.coverage.timelines),
        percent(contract.coverage.node_snapshots),
        percent(view.availability)
    ));
    if contract.commits.unknown_jobs > 0 {
        page.line(&format!(
            "commits unknown for {}: steps that were not rolled back count as retained",
            counted(contract.commits.unknown_jobs, "job")
        ));
    }
    for ideal in parts::ideals(contract) {
        page.line(&ideal);
    }
}

fn chain(page: &mut Page, view: &AccountView) {
    let (capacity, factors, bounds) =
        (&view.ledger.capacity_time, &view.ledger.factors, &view.ledger.factor_bounds);
    let offered = capacity.offered_ns.unwrap_or_default();
    let share = |level: Exact| percent(level.capacity().share_of(offered.capacity()));
    let row = |level: &str, amount: Exact, name: &str, value, bounds| {
        let (settled_on, range) = parts::settled_on(bounds);
        let value = if name.is_empty() { String::new() } else { factor(value) };
        vec![
            level.to_owned(),
            device_hours(amount.capacity()),
            share(amount),
            name.to_owned(),
            value,
            settled_on,
            range,
        ]
    };
    let rows = vec![
        row("offered", offered, "", None, None),
        row("held", capacity.held_ns, "scheduling goodput", factors.scheduling, bounds.scheduling),
        row("retained", capacity.retained_ns, "runtime goodput", factors.runtime, Some(bounds.runtime)),
        row("ideal", capacity.ideal_ns, "program goodput", factors.program, Some(bounds.program)),
        {
            let (settled_on, range) = parts::settled_on(bounds.mpg);
            let empty = String::new;
            vec![
                empty(),
                empty(),
                empty(),
                "MPG (product)".to_owned(),
                factor(factors.mpg),
                settled_on,
                range,
            ]
        },
    ];
    let columns = [
        Text("level"),
        Number("device-h"),
        Number("of offered"),
        Text("factor"),
        Number("value"),
        Number("settled on"),
        Text("bounds"),
    ];
    page.table(&columns, rows);
}

fn price(page: &mut Page, cost: &CostView) {
    let amount = |value: Option<f64>| value.map_or_else(|| UNKNOWN.to_owned(), |v| money(v, &cost.currency));
    let range = if cost.coverage < 1.0 {
        format!(
            ", settled on {} of the capacity, {} to {}",
            percent(Some(cost.coverage)),
            amount(cost.low),
            cost.high.map_or_else(|| "unbounded".to_owned(), |high| money(high, &cost.currency))
        )
    } else {
        String::new()
    };
    page.line(&format!(
        "A useful device-hour costs {} at {} offered{range}.",
        amount(cost.per_useful_device_hour),
        money(cost.price_per_device_hour, &cost.currency)
    ));
}

fn pools(page: &mut Page, pools: &[PoolView]) {
    if pools.is_empty() {
        return;
    }
    page.heading("Pools");
    let row = |p: &PoolView| {
        let f = &p.ledger.factors;
        let unheld = p.losses.iter().find(|l| l.boundary == "scheduling");
        vec![
            cut(&p.name, NAME),
            count(p.devices),
            device_hours(p.ledger.capacity_time.offered_ns.unwrap_or_default().capacity()),
            factor(f.scheduling),
            factor(f.runtime),
            factor(f.program),
            factor(f.mpg),
            device_hours(p.diagnostics.free_queue_waiting_ns.capacity()),
            unheld.map_or_else(String::new, |l| l.label.to_owned()),
        ]
    };
    let columns = [
        Text("pool"),
        Number("devices"),
        Number("offered h"),
        Number("sched."),
        Number("runtime"),
        Number("program"),
        Number("MPG"),
        Number("free, queue waits"),
        Text("largest unheld cause"),
    ];
    page.table(&columns, pools.iter().map(row).collect());
}

fn cohorts(page: &mut Page, cohorts: &[CohortView]) {
    if cohorts.is_empty() {
        return;
    }
    page.heading("Cohorts");
    let mut rows = Vec::new();
    for (kind, word) in [("gang_size", "gang"), ("account", "account"), ("partition", "partition")] {
        let mut of_kind: Vec<_> = cohorts.iter().filter(|c| c.kind == kind).collect();
        of_kind.sort_by_key(|c| std::cmp::Reverse(c.held_ns));
        for c in of_kind.iter().take(COHORTS) {
            rows.push(vec![
                word.to_owned(),
                cut(&c.label, NAME),
                count(c.attempts),
                device_hours(c.held_ns.capacity()),
                factor(c.scheduling_goodput),
                duration(c.first_wait.p50_ns.as_i64()),
                duration(c.first_wait.p90_ns.as_i64()),
                duration(c.total_wait.max_ns.as_i64()),
            ]);
        }
        if of_kind.len() > COHORTS {
            let rest = &of_kind[COHORTS..];
            let held = rest.iter().map(|c| c.held_ns.capacity()).sum();
            let attempts = rest.iter().map(|c| c.attempts).sum();
            let mut row =
                vec![word.to_owned(), format!("{} others", rest.len()), count(attempts), device_hours(held)];
            row.resize(8, String::new());
            rows.push(row);
        }
    }
    let columns = [
        Text("by"),
        Text("cohort"),
        Number("attempts"),
        Number("held h"),
        Number("sched."),
        Number("first wait p50"),
        Number("p90"),
        Number("longest total wait"),
    ];
    page.table(&columns, rows);
}

fn jobs(page: &mut Page, view: &AccountView) {
    if view.jobs.is_empty() {
        page.heading("Jobs");
        page.line("no job held a device inside the window");
        return;
    }
    page.heading("Jobs that lose the most inside their allocations");
    let mut worst: Vec<_> = view.jobs.iter().collect();
    worst.sort_by_key(|job| std::cmp::Reverse(job.lost()));
    let row = |job: &&JobView| {
        let f = &job.ledger.factors;
        vec![
            job.id.clone(),
            cut(&job.name, NAME),
            count(job.devices),
            device_hours(job.ledger.capacity_time.held_ns.capacity()),
            device_hours(job.lost()),
            factor(f.runtime),
            factor(f.program),
            job.losses.first().map_or_else(String::new, |l| format!("{} {}", l.label, percent(l.share))),
            job.next.record.replace('_', " "),
        ]
    };
    let columns = [
        Text("job"),
        Text("name"),
        Number("devices"),
        Number("held h"),
        Number("lost h"),
        Number("R"),
        Number("P"),
        Text("largest loss, of held"),
        Text("open next"),
    ];
    page.table(&columns, worst.iter().take(JOBS).map(row).collect());
    let shown = view.jobs.len().min(JOBS) as u64;
    let jobs = view.jobs.len() as u64 + view.jobs_omitted.count;
    if jobs > shown {
        page.note(&format!("{} of {} shown", count(shown), counted(jobs, "job")));
    }
}
