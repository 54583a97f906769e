//! The page of `goodput trace`.

use goodput_trace::class::Class;
use goodput_trace::partition::{Charge, HostCause};
use goodput_trace::trace::CollectiveKind;

use super::charts::{self, Stack};
use super::page::{Block, Page, Part, Section, Tile, contract_blocks, timing};
use super::palette;
use crate::number::{UNKNOWN, counted, duration, percent};
use crate::table::{self, Detail, Table};
use crate::view::{AmountsView, PeersView, StepTimelineView, TraceRankView, TraceStepView, TraceView};
use crate::words;

/// Ranks or steps that have a bar each.
const BARS: usize = 64;
/// How many of them are drawn when there are more.
const WORST: usize = 32;

pub(super) fn page(view: &TraceView) -> Page {
    let mut sections = vec![partition(view), findings(view)];
    sections.extend(peers(view));
    sections.extend(timeline(view));
    sections.extend(overlap(view));
    sections.extend(roofline(view));
    sections.push(kernels(view));
    sections.extend(audit(view));
    sections.extend(sampling(view));
    sections.push(steps(view));
    sections.push(contract(view));
    sections.push(read(view));
    let mut scope = words::trace_scope(view);
    let window = scope.remove(0);
    scope.extend(view.untraced.as_ref().map(words::untraced));
    scope.extend(view.model.iter().flat_map(words::trace_model));
    Page {
        title: words::trace_title(view),
        window,
        lines: scope,
        generated_by: view.generated_by.clone(),
        levels: Vec::new(),
        parts: parts(view),
        headline: headline(view),
        sections,
    }
}

/// Charges that the headline shows as one.
struct Group {
    name: &'static str,
    colour_of: Charge,
    holds: fn(Charge) -> bool,
}

const GROUPS: [Group; 9] = [
    Group {
        name: "products, attention, convolution",
        colour_of: Charge::Compute(Class::Gemm),
        holds: |charge| matches!(charge, Charge::Compute(class) if class.is_matrix_work()),
    },
    Group {
        name: "other kernels that compute",
        colour_of: Charge::Compute(Class::Elementwise),
        holds: |charge| matches!(charge, Charge::Compute(class) if !class.is_matrix_work()),
    },
    Group {
        name: "exposed transfer",
        colour_of: Charge::Transfer(CollectiveKind::AllReduce),
        holds: |charge| matches!(charge, Charge::Transfer(_)),
    },
    Group {
        name: "exposed communication, not split",
        colour_of: Charge::CommunicationNotSplit(CollectiveKind::AllReduce),
        holds: |charge| matches!(charge, Charge::CommunicationNotSplit(_)),
    },
    Group {
        name: "waiting for peers and stages",
        colour_of: Charge::PeerWait,
        holds: |charge| matches!(charge, Charge::PeerWait | Charge::Bubble),
    },
    Group { name: "exposed copies and fills", colour_of: Charge::Copy, holds: Charge::is_memory },
    Group {
        name: "host late",
        colour_of: Charge::HostLate(HostCause::Dispatch),
        holds: |charge| matches!(charge, Charge::HostLate(_)),
    },
    Group {
        name: "launch latency and other streams",
        colour_of: Charge::LaunchLatency,
        holds: |charge| matches!(charge, Charge::LaunchLatency | Charge::StreamDependency),
    },
    Group {
        name: "idle, unattributed",
        colour_of: Charge::Unattributed,
        holds: |charge| matches!(charge, Charge::Unattributed),
    },
];

/// The judged steps of all ranks as one bar.
fn parts(view: &TraceView) -> Vec<Part> {
    let part = |group: &Group| {
        let share: f64 = view.charges.iter().filter(|c| (group.holds)(c.kind)).map(|c| c.share).sum();
        let hatched = palette::is_charge_hatched(group.colour_of);
        (share > 0.0).then(|| Part {
            name: group.name,
            swatch: palette::swatch(palette::charge(group.colour_of), hatched),
            width: share * 100.0,
            share: percent(Some(share)),
            note: chiefly(view, group.holds).unwrap_or_default(),
        })
    };
    GROUPS.iter().filter_map(part).collect()
}

/// The largest of several charges: they come by size.
fn chiefly(view: &TraceView, holds: fn(Charge) -> bool) -> Option<String> {
    let mut of_group = view.charges.iter().filter(|c| holds(c.kind) && c.time_ns > 0);
    let (first, _) = (of_group.next()?, of_group.next()?);
    Some(format!("chiefly {} {}", first.label, percent(Some(first.share))))
}

fn headline(view: &TraceView) -> Vec<Tile> {
    let total = &view.total;
    let share = |ns: i64| percent((total.window_ns > 0).then(|| ns as f64 / total.window_ns as f64));
    let mut tiles = vec![Tile {
        name: "program goodput, at most",
        value: percent(view.program_goodput_upper_bound),
        note: "kernels that compute over step time, input waits left out: no kernel is faster than its ideal"
            .to_owned(),
    }];
    if let Some(model) = &view.model {
        tiles.push(Tile {
            name: "program goodput",
            value: percent(Some(model.program_goodput)),
            note: format!(
                "MFU in exact FLOPs of {}: {} at the peak of {} over {} traced",
                model.model,
                duration(model.ideal_step_ns),
                model.device,
                duration(model.traced_step_ns)
            ),
        });
    }
    if let Some(triage) = &view.triage {
        let asked = triage.questions.last();
        let yes = asked.filter(|q| q.yes).map_or_else(String::new, |q| format!(": {}", q.figure));
        tiles.push(Tile {
            name: "term to shorten",
            value: triage.term.map_or("not named", words::term).to_owned(),
            note: match (triage.term_label, triage.next) {
                (None, Some(next)) => format!("next: {next}"),
                (Some(term), _) => format!("{term}; told by the {}{yes}", triage.level_label),
                (None, None) => format!("beyond the {}", triage.level_label),
            },
        });
    }
    let holds_transfer = |charge| matches!(charge, Charge::Transfer(_) | Charge::CommunicationNotSplit(_));
    let waiting_ns = total.waiting_ns();
    tiles.push(Tile {
        name: "exposed communication",
        value: share(total.exposed_comm_ns - waiting_ns),
        note: match total.comm_total_ns {
            0 => "no communication is traced".to_owned(),
            all => format!(
                "beside waiting; computation hides {} of all communication{}",
                percent(Some(total.overlap_ns as f64 / all as f64)),
                chiefly(view, holds_transfer).map(|note| format!("; {note}")).unwrap_or_default()
            ),
        },
    });
    if let Some(peers) = &view.peers {
        let worst = peers.blame.first().filter(|blame| blame.skew_ns > 0);
        tiles.push(Tile {
            name: "waiting for peers and stages",
            value: share(waiting_ns),
            note: match worst {
                Some(b) => format!(
                    "{} holds {} of the skew, last {}",
                    name_among(view, peers, b.rank),
                    percent(Some(b.share)),
                    counted(b.times_last, "time")
                ),
                None => chiefly(view, |charge| matches!(charge, Charge::PeerWait | Charge::Bubble))
                    .unwrap_or_else(|| "no rank holds the others up".to_owned()),
            },
        });
    }
    tiles.push(Tile {
        name: "host late",
        value: share(total.idle_host_late_ns),
        note: chiefly(view, |charge| matches!(charge, Charge::HostLate(_)))
            .unwrap_or_else(|| "device idle with nothing queued".to_owned()),
    });
    tiles
}

/// How a rank is called, by its index: without a number it is told by its part of the file.
fn name_at(view: &TraceView, index: usize) -> String {
    match view.ranks.get(index) {
        Some(TraceRankView { rank: Some(rank), .. }) => format!("rank {rank}"),
        Some(TraceRankView { part: Some(part), .. }) => part.clone(),
        Some(_) => "the trace".to_owned(),
        None => UNKNOWN.to_owned(),
    }
}

/// The same by the number that it has among its peers: its index, where its trace does not tell it.
fn name_among(view: &TraceView, peers: &PeersView, rank: u32) -> String {
    let index = peers.ranks.iter().position(|of| of.rank == rank);
    index.map_or_else(|| format!("rank {rank}"), |index| name_at(view, index))
}

/// Ranks with a bar of their own.
fn rank_stacks(view: &TraceView) -> Vec<Stack<'_>> {
    let limit = if view.ranks.len() > BARS { WORST } else { BARS };
    view.worst_ranks(limit)
        .into_iter()
        .map(|index| {
            let rank = &view.ranks[index];
            let steps = rank.steps.iter().filter(|step| step.judged).count();
            Stack { name: name_at(view, index), amounts: &rank.total, steps, judged: true }
        })
        .collect()
}

fn rest_of_ranks(view: &TraceView) -> Option<String> {
    (view.ranks.len() > BARS).then(|| {
        format!(
            "The {WORST} ranks that made the others wait most, or took longest themselves, are drawn; {} are not. The \
             table lists all.",
            counted((view.ranks.len() - WORST) as u64, "rank")
        )
    })
}

/// A table that is shown when it is opened, if it has more rows than a screen.
fn long_table(caption: &str, table: Table) -> Block {
    match table.rows.len() {
        0..=WORST => Block::Table(caption.to_owned(), table),
        _ => Block::FoldedTable(caption.to_owned(), table),
    }
}

fn partition(view: &TraceView) -> Section {
    let mut drawn = Vec::new();
    if view.ranks.len() > 1 {
        drawn.extend(charts::charges(
            "ranks",
            "An average step of each rank",
            "device-time a step",
            &rank_stacks(view),
        ));
    }
    // Steps of the rank with the longest one; without a judged step, of the first.
    let index = view.timeline.as_ref().map_or(0, |timeline| timeline.index);
    let mut notes: Vec<String> = rest_of_ranks(view).into_iter().collect();
    if let Some(rank) = view.ranks.get(index) {
        let (steps, omitted) = worst_steps(rank);
        let title = format!("Steps of {}", name_at(view, index));
        let mut steps = charts::charges("steps", &title, "device-time", &steps);
        // The legend beside it says the rest.
        if let (Some(steps), Some(ranks)) = (&mut steps, drawn.first()) {
            steps.legend.retain(|key| ranks.legend.iter().all(|known| known.name != key.name));
        }
        drawn.extend(steps);
        notes.extend(
            (omitted > 0).then(|| {
                format!("The {WORST} longest steps are drawn, {} are not.", counted(omitted, "step"))
            }),
        );
    }
    Section {
        id: "partition",
        title: "Where the device-time went",
        intro: "Every nanosecond of every judged step is charged once: to a kernel that computes, else to communication \
                that moves data or waits, else to copies, else to what the idle device waited for."
            .to_owned(),
        blocks: vec![
            Block::Charts(drawn),
            Block::Notes(notes),
            Block::Table("Every charge, the largest first".to_owned(), table::charges(view)),
            Block::FoldedTable("Shares of each rank".to_owned(), table::trace_ranks(&view.ranks, Detail::Full)),
        ],
    }
}

/// Steps of a rank with a bar of their own, and how many have none.
fn worst_steps(rank: &TraceRankView) -> (Vec<Stack<'_>>, u64) {
    let mut steps: Vec<(usize, &TraceStepView, &AmountsView)> = rank
        .steps
        .iter()
        .enumerate()
        .filter_map(|(index, step)| Some((index, step, step.device_window.as_ref()?)))
        .collect();
    let all = steps.len();
    if all > BARS {
        steps.sort_by_key(|(index, _, amounts)| (std::cmp::Reverse(amounts.window_ns), *index));
        steps.truncate(WORST);
        steps.sort_by_key(|(index, ..)| *index);
    }
    let omitted = (all - steps.len()) as u64;
    let mut names: Vec<_> = steps.iter().map(|(_, step, _)| step.name.as_str()).collect();
    names.sort_unstable();
    let is_named_apart = names.windows(2).all(|pair| pair[0] != pair[1]);
    let stack = |(index, step, amounts): (usize, &TraceStepView, _)| {
        let name = if is_named_apart { step.name.clone() } else { format!("{index} · {}", step.name) };
        Stack { name, amounts, steps: 1, judged: step.judged }
    };
    (steps.into_iter().map(stack).collect(), omitted)
}

fn findings(view: &TraceView) -> Section {
    let mut blocks = Vec::new();
    if let Some(triage) = &view.triage {
        blocks.push(Block::Table(
            "The questions, from the cheapest evidence to the dearest".to_owned(),
            table::triage(triage),
        ));
    }
    blocks.push(Block::Table(
        "What the traces show, the largest first".to_owned(),
        table::trace_findings(&view.findings),
    ));
    let definitions = view.findings.iter().map(|finding| {
        let text = format!(
            "{}. Lever: {}. Check first: {}. Evidence: {}.",
            finding.cause,
            finding.lever,
            finding.trade_off,
            finding.evidence.join("; ")
        );
        (finding.label, text)
    });
    blocks.push(Block::Definitions(definitions.collect()));
    Section {
        id: "findings",
        title: "What to change first",
        intro: format!(
            "{} Every finding is a hypothesis: change one thing, trace again, and believe the step time. Findings about \
             kernels that compute overlap with each other and are no part of the sum above.",
            view.triage.as_ref().map(words::triage).unwrap_or_default()
        ),
        blocks,
    }
}

fn peers(view: &TraceView) -> Option<Section> {
    let peers = view.peers.as_ref()?;
    let mut drawn = charts::heat(view, |index| name_at(view, index));
    drawn.extend(charts::blame(peers, |rank| name_among(view, peers, rank)));
    let mut blocks = vec![Block::Charts(drawn), Block::Notes(words::peers(peers))];
    blocks.push(long_table("Waiting, and who was waited for", table::peers(peers, Detail::Full)));
    if !peers.bandwidth.is_empty() {
        blocks.push(Block::FoldedTable(
            "Bandwidth of collectives".to_owned(),
            table::bandwidth(peers, Detail::Full),
        ));
    }
    Some(Section {
        id: "peers",
        title: "Which rank holds the others up",
        intro: "A rank that is late shows as much own time; the others show as much waiting. The skew of a collective is \
                charged to the rank that joined it last, unless that one waited itself."
            .to_owned(),
        blocks,
    })
}

fn timeline(view: &TraceView) -> Option<Section> {
    let timeline = view.timeline.as_ref()?;
    let StepTimelineView { step, index, length_ns, resolution_ns, lanes_omitted, .. } = timeline;
    let rest = match lanes_omitted {
        0 => String::new(),
        n => format!(" {} are not drawn.", counted(*n, "more rank")),
    };
    Some(Section {
        id: "timeline",
        title: "The longest step",
        intro: format!(
            "{} is the longest on {}; the picture spans {}. Stretches shorter than {} are drawn as part of what fills most of them; the tables are \
             exact.{rest} Drag over a stretch to see it closer, double-click to see all of it.",
            step,
            name_at(view, *index),
            duration(*length_ns),
            duration(*resolution_ns)
        ),
        blocks: vec![Block::Charts(vec![charts::step_lanes(timeline, |index| name_at(view, index))])],
    })
}

fn overlap(view: &TraceView) -> Option<Section> {
    let overlap = view.overlap.as_ref()?;
    let mut drawn: Vec<_> = charts::communication(&rank_stacks(view)).into_iter().collect();
    drawn.extend(charts::slowdowns(overlap, |index| name_at(view, index)));
    let mut blocks = vec![Block::Charts(drawn), Block::Notes(words::overlap(overlap))];
    blocks.push(long_table("Communication of each rank", table::overlap(&view.ranks, overlap, Detail::Full)));
    if !overlap.kernels.is_empty() {
        let caption = "Kernels beside communication, the most added time first".to_owned();
        blocks.push(Block::FoldedTable(caption, table::contention(overlap, Detail::Full)));
    }
    Some(Section {
        id: "overlap",
        title: "What overlap hides and costs",
        intro: "Hidden communication costs no time of its own and slows the kernels beside it: the net gain is what it \
                hides less what it adds."
            .to_owned(),
        blocks,
    })
}

fn roofline(view: &TraceView) -> Option<Section> {
    let roofline = view.roofline.as_ref()?;
    Some(Section {
        id: "roofline",
        title: "How far kernels are from their ceilings",
        intro: "Each point is a kernel, its area the time it takes. On the slope only less traffic helps, under the flat \
                only less arithmetic or a faster type; far below both, neither does. FLOPs and bytes are those of the \
                recorded shapes, so a point stands too far right rather than too far left."
            .to_owned(),
        blocks: vec![
            Block::Charts(charts::roofline(roofline).into_iter().collect()),
            Block::Notes(words::roofline(roofline)),
            long_table("Kernels by time", table::roofline(roofline, Detail::Full)),
        ],
    })
}

fn kernels(view: &TraceView) -> Section {
    let rows = |rows, name| table::kernel_rows(rows, name, Detail::Full);
    let mut blocks = vec![Block::Table("By class".to_owned(), rows(&view.classes, "class"))];
    if !view.collectives.is_empty() {
        blocks.push(Block::Table("Communication by kind".to_owned(), rows(&view.collectives, "exchange")));
    }
    blocks.push(Block::FoldedTable("By name".to_owned(), rows(&view.kernels, "kernel")));
    if !view.operators.is_empty() {
        blocks
            .push(Block::FoldedTable("By launching operator".to_owned(), rows(&view.operators, "operator")));
    }
    Section {
        id: "kernels",
        title: "Device work",
        intro: "Total is the sum of durations; charged is the time for which nothing that claims it first ran beside it."
            .to_owned(),
        blocks,
    }
}

fn audit(view: &TraceView) -> Option<Section> {
    let audit = view.audit.as_ref()?;
    let lines = words::audit(audit);
    let lines = if audit.clean { Block::Lines(lines) } else { Block::Alerts(lines) };
    let caption = "Exchanges expected and traced".to_owned();
    Some(Section {
        id: "audit",
        title: "Collectives against the mesh and the sharding",
        intro: String::new(),
        blocks: vec![lines, Block::Table(caption, table::audit(audit, Detail::Full))],
    })
}

fn sampling(view: &TraceView) -> Option<Section> {
    let sampling = view.sampling.as_ref()?;
    Some(Section {
        id: "sampling",
        title: "What to trace next",
        intro: String::new(),
        blocks: vec![
            Block::Lines(words::sampling(sampling)),
            Block::Table("Ranks".to_owned(), table::sampled_ranks(sampling, Detail::Full)),
            Block::Table("Windows".to_owned(), table::sampled_windows(sampling)),
        ],
    })
}

fn steps(view: &TraceView) -> Section {
    Section {
        id: "steps",
        title: "Steps",
        intro: format!(
            "Boundaries: {}. Incomplete and warm-up steps are left out of the totals, unless there are no others.",
            view.scope.step_evidence_label
        ),
        blocks: vec![Block::FoldedTable(
            "Every step of every rank".to_owned(),
            table::trace_steps(&view.ranks, Detail::Full),
        )],
    }
}

fn contract(view: &TraceView) -> Section {
    let contract = &view.contract;
    let types = match contract.device_types.as_slice() {
        [] => "not stated".to_owned(),
        types => types.join(", "),
    };
    let length = contract.duration_ns.map(|ns| format!("{} of captured steps", duration(ns.as_i64())));
    let window = match (&contract.window, length) {
        (Some(window), Some(length)) => format!("{} to {}, half-open; {length}", window.from, window.to),
        (_, Some(length)) => format!("{length}; the stamps tell no date"),
        (_, None) => "no step is judged".to_owned(),
    };
    let [held, productive, resolution] = timing(&contract.timing_boundary);
    let definitions = vec![
        ("window", window),
        ("scope", "trace: steps while they are profiled, a sample of the job".to_owned()),
        ("denominator", "time of the judged steps".to_owned()),
        ("devices", format!("{} traced ({types})", contract.devices)),
        held,
        productive,
        resolution,
        ("made by", view.generated_by.clone()),
    ];
    Section {
        id: "contract",
        title: "The contract",
        intro: "Two traces may be held against each other when these agree.".to_owned(),
        blocks: contract_blocks(&contract.known, &contract.statistics, definitions),
    }
}

fn read(view: &TraceView) -> Section {
    let mut blocks = vec![long_table("Events of each file", table::trace_files(&view.files, Detail::Full))];
    let mut alerts = words::trace_findings(&view.files);
    alerts.extend(view.warnings.iter().cloned());
    if !alerts.is_empty() {
        blocks.push(Block::Alerts(alerts));
    }
    let degraded = view.files.iter().any(|file| file.degraded);
    Section {
        id: "read",
        title: "What was read",
        intro: if degraded { "Something that the answer needs was lost: see below." } else { "" }.to_owned(),
        blocks,
    }
}
