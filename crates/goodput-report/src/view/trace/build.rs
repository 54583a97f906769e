//! An analysis of traces becomes a view.

use std::collections::BTreeMap;

use goodput_trace::analysis::{Analysis, RankAnalysis, StepWindows};
use goodput_trace::diagnosis::{Evidence, Finding, Triage, findings, lost_by_term, triage};
use goodput_trace::partition::{Charge, Partition};
use goodput_trace::peers::PeerAnalysis;
use goodput_trace::reading::{FileReading, Finding as ReadFinding};
use goodput_trace::steps::{MatchedBy, Step, StepsAcross};
use goodput_trace::tables::Row;
use goodput_trace::trace::{RankEvidence, RankTrace};
use goodput_trace::untraced::Untraced;

use super::{
    AmountsView, AuditView, BandwidthView, BlameView, ChargeView, FindingRowView, KernelRowView,
    NotSplitView, OverlapView, PeerRankView, PeersView, QuestionView, RooflineView, SamplingView,
    StepRowView, StepTimelineView, StepsAcrossView, TermView, TraceContractView, TraceFileView,
    TraceFindingView, TraceModelView, TraceRankView, TraceScopeView, TraceStepView, TraceView, TriageView,
    UntracedView,
};
use crate::view::ViewSettings;

/// What stands beside an analysis in its view.
#[derive(Debug, Default)]
pub struct TraceBeside {
    /// The device of all ranks, over what the traces say.
    pub device: Option<String>,
    /// Traced steps against untraced ones.
    pub untraced: Option<Untraced>,
    /// The traced steps against the model.
    pub model: Option<TraceModelView>,
    /// The collective audit.
    pub audit: Option<AuditView>,
    /// What to trace next.
    pub sampling: Option<SamplingView>,
    /// What a person should know before trusting a figure.
    pub warnings: Vec<String>,
}

impl TraceView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.trace/1";

    /// The view of an analysis of the traces in `files`.
    pub fn new(
        analysis: &Analysis,
        files: &[FileReading],
        beside: TraceBeside,
        top: usize,
        settings: &ViewSettings,
    ) -> Self {
        let evidence = analysis.evidence();
        let whole_ns = evidence.window_ns;
        let tables = analysis.tables();
        let terms = lost_by_term(&evidence).into_iter().map(|(term, owner, ns)| TermView {
            term: term.key(),
            label: term.label(),
            owner: owner.key(),
            time_ns: ns,
            share: share(ns, whole_ns),
        });
        let ranks: Vec<_> = analysis.ranks.iter().map(rank).collect();
        let peers = analysis.peers.as_ref().map(|peers| peers_view(peers, analysis));
        let steps_across = StepsAcrossView::of(analysis);
        let scope = scope(analysis);
        let ranked = worst_first(&ranks, peers.as_ref());
        Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            title: settings.title.clone(),
            contract: TraceContractView::new(analysis, &scope, &steps_across.rows, &beside),
            scope,
            total: AmountsView::sum(analysis.ranks.iter().flat_map(RankAnalysis::judged)),
            charges: charges(&evidence),
            program_goodput_upper_bound: evidence.upper_bound(),
            terms: terms.collect(),
            triage: triage(&evidence).map(TriageView::from),
            findings: findings(&evidence).into_iter().map(FindingRowView::from).collect(),
            timeline: StepTimelineView::new(analysis, &steps_across.rows, &ranked),
            steps_across,
            overlap: OverlapView::new(analysis, top),
            roofline: RooflineView::new(analysis),
            ranks,
            classes: rows(tables.classes, top, |class| (class.label().to_owned(), None)),
            kernels: rows(tables.kernels, top, |(name, class)| (name, Some(class.key()))),
            operators: rows(tables.operators, top, |name| (name, None)),
            collectives: rows(tables.collectives, top, |kind| (kind.label().to_owned(), None)),
            peers,
            untraced: beside.untraced.map(UntracedView::from),
            model: beside.model,
            audit: beside.audit,
            sampling: beside.sampling,
            files: files.iter().map(TraceFileView::from).collect(),
            warnings: beside.warnings,
        }
    }
}

fn rows<K>(
    rows: Vec<Row<K>>,
    top: usize,
    name: impl Fn(K) -> (String, Option<&'static str>),
) -> Vec<KernelRowView> {
    let row = |row: Row<K>| {
        let (name, class) = name(row.key);
        KernelRowView {
            name,
            class,
            count: row.count as u64,
            total_ns: row.total_ns,
            charged_ns: row.charged_ns,
            median_ns: row.median_ns,
            p99_ns: row.p99_ns,
            max_ns: row.max_ns,
        }
    };
    rows.into_iter().take(top).map(row).collect()
}

fn share(part_ns: i64, whole_ns: i64) -> f64 {
    if whole_ns > 0 { part_ns as f64 / whole_ns as f64 } else { 0.0 }
}

fn scope(analysis: &Analysis) -> TraceScopeView {
    let traces = || analysis.ranks.iter().map(|rank| &rank.trace);
    let mut devices: Vec<_> =
        traces().flat_map(|t| &t.devices).map(|d| d.name.clone()).filter(|n| !n.is_empty()).collect();
    devices.sort_unstable();
    devices.dedup();
    // The weakest evidence speaks for all.
    let evidence = analysis.ranks.iter().map(|rank| rank.steps.evidence).max();
    TraceScopeView {
        ranks: analysis.ranks.len() as u64,
        world_size: traces().find_map(|t| t.identity.world_size).map(u64::from),
        devices,
        rank_steps: analysis.judged_steps() as u64,
        rank_steps_traced: analysis.ranks.iter().map(|rank| rank.windows.len() as u64).sum(),
        step_evidence: evidence.map_or("none", |e| e.key()),
        step_evidence_label: evidence.map_or("no events", |e| e.label()),
    }
}

fn charges(evidence: &Evidence) -> Vec<ChargeView> {
    let mut rows: Vec<_> = evidence
        .amounts
        .iter()
        .map(|&(charge, ns)| ChargeView {
            charge: charge.key(),
            label: match charge {
                Charge::Transfer(kind) | Charge::CommunicationNotSplit(kind) => {
                    format!("{}: {}", charge.label(), kind.label())
                }
                _ => charge.label().to_owned(),
            },
            term: charge.term().label(),
            owner: charge.pattern().map(|pattern| pattern.owner().label()),
            time_ns: ns,
            share: share(ns, evidence.window_ns),
            kind: charge,
        })
        .collect();
    rows.sort_by(|a, b| b.time_ns.cmp(&a.time_ns).then_with(|| a.label.cmp(&b.label)));
    rows
}

impl AmountsView {
    /// Nanoseconds of one charge, exchanges of all kinds together.
    pub(crate) fn of(&self, charge: Charge) -> i64 {
        self.charges.get(&format!("{}_ns", charge.key())).copied().unwrap_or(0)
    }

    /// Waiting for peers and for senders.
    pub(crate) fn waiting_ns(&self) -> i64 {
        self.of(Charge::PeerWait) + self.of(Charge::Bubble)
    }

    fn sum<'a>(partitions: impl Iterator<Item = &'a Partition>) -> Self {
        let mut sum = Self::default();
        for p in partitions {
            sum.window_ns += p.window_ns();
            sum.compute_ns += p.compute_ns();
            sum.exposed_comm_ns += p.exposed_comm_ns();
            sum.exposed_mem_ns += p.exposed_mem_ns();
            sum.idle_ns += p.idle_ns();
            sum.comm_total_ns += p.comm_total_ns;
            sum.overlap_ns += p.hidden_comm_ns();
            sum.idle_host_late_ns += p.host_late_ns();
            sum.idle_launch_lat_ns += p.launch_latency_ns();
            sum.idle_unattributed_ns += p.unattributed_ns();
            for (charge, &ns) in p.amounts.iter().filter(|(_, ns)| **ns > 0) {
                *sum.charges.entry(format!("{}_ns", charge.key())).or_insert(0) += ns;
            }
        }
        sum
    }
}

impl From<Triage> for TriageView {
    fn from(triage: Triage) -> Self {
        let questions = triage
            .answers
            .into_iter()
            .map(|a| QuestionView { question: a.question.text(), yes: a.yes, figure: a.figure })
            .collect();
        Self {
            questions,
            level: triage.level.key(),
            level_label: triage.level.label(),
            term: triage.term.map(|term| term.key()),
            term_label: triage.term.map(|term| term.label()),
            next: triage.next,
        }
    }
}

impl From<Finding> for FindingRowView {
    fn from(Finding { symptom, amount_ns, share, evidence }: Finding) -> Self {
        Self {
            symptom: symptom.key(),
            label: symptom.label(),
            cause: symptom.cause(),
            factor: symptom.boundary().key(),
            pattern: symptom.pattern().key(),
            term: symptom.term().key(),
            term_label: symptom.term().label(),
            owner: symptom.owner().key(),
            owner_label: symptom.owner().label(),
            lever: symptom.lever(),
            trade_off: symptom.trade_off(),
            time_ns: amount_ns,
            share,
            evidence,
        }
    }
}

fn rank(rank: &RankAnalysis) -> TraceRankView {
    let trace = &rank.trace;
    TraceRankView {
        rank: trace.identity.rank,
        rank_evidence: match trace.identity.evidence {
            RankEvidence::Stated => "stated",
            RankEvidence::Metadata => "metadata",
            RankEvidence::ProcessGroups => "process_groups",
            RankEvidence::FileName => "file_name",
            RankEvidence::OnlyTrace => "only_trace",
            RankEvidence::None => "none",
        },
        file: trace.path.display().to_string(),
        part: trace.identity.part.clone(),
        gpu_window: AmountsView::sum(rank.whole.iter()),
        total: AmountsView::sum(rank.judged()),
        steps: rank
            .steps
            .steps
            .iter()
            .zip(&rank.windows)
            .enumerate()
            .map(|(index, (step, windows))| step_view(trace, index, step, windows))
            .collect(),
    }
}

fn step_view(trace: &RankTrace, index: usize, step: &Step, windows: &StepWindows) -> TraceStepView {
    let name = trace.name(step.name);
    let flags = [
        (step.may_lack_start, "start may be cut"),
        (step.may_lack_end, "end may be cut"),
        (step.incomplete, "kernels missing"),
        (step.warm_up, "warm-up"),
        (step.device.is_none(), "no device work"),
    ];
    TraceStepView {
        name: step_name(name, index),
        number: step.number,
        host_from_ns: step.host.map(|(from_ns, _)| from_ns.into()),
        host_window: windows.host.as_ref().map(|p| AmountsView::sum(std::iter::once(p))),
        device_from_ns: step.device.map(|(from_ns, _)| from_ns.into()),
        device_window: windows.device.as_ref().map(|p| AmountsView::sum(std::iter::once(p))),
        device_events: step.work as u64,
        flags: flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).collect(),
        judged: windows.judged,
    }
}

/// A step without a name is told by its place.
pub(super) fn step_name(name: &str, index: usize) -> String {
    if name.is_empty() { format!("step {index}") } else { name.to_owned() }
}

/// Ranks by index: those that made others wait most, then those that took longest without waiting themselves.
pub(super) fn worst_first(ranks: &[TraceRankView], peers: Option<&PeersView>) -> Vec<usize> {
    let mut skews_ns = vec![0; ranks.len()];
    if let Some(peers) = peers {
        let by_rank: BTreeMap<u32, i64> = peers.blame.iter().map(|b| (b.rank, b.skew_ns)).collect();
        for (skew_ns, rank) in skews_ns.iter_mut().zip(&peers.ranks) {
            *skew_ns = by_rank.get(&rank.rank).copied().unwrap_or(0);
        }
    }
    let own_ns = |index: usize| ranks[index].total.window_ns - ranks[index].total.waiting_ns();
    let mut worst: Vec<usize> = (0..ranks.len()).collect();
    worst.sort_by_key(|&index| std::cmp::Reverse((skews_ns[index], own_ns(index))));
    worst
}

impl TraceView {
    /// The ranks to look at first, at most `limit`, by index and in order.
    pub(crate) fn worst_ranks(&self, limit: usize) -> Vec<usize> {
        let mut worst = worst_first(&self.ranks, self.peers.as_ref());
        worst.truncate(limit);
        worst.sort_unstable();
        worst
    }
}

impl StepsAcrossView {
    fn of(analysis: &Analysis) -> Self {
        let steps: Vec<_> = analysis.ranks.iter().map(|rank| &rank.steps).collect();
        let exchanges = analysis.peers.as_ref().map_or(&[][..], |peers| &peers.matches);
        let across = StepsAcross::of(&steps, exchanges);
        Self {
            matched_by: match across.matched_by {
                MatchedBy::Number => "number",
                MatchedBy::Exchanges => "exchanges",
                MatchedBy::Order => "order",
            },
            rows: across
                .rows
                .into_iter()
                .map(|row| StepRowView { number: row.number, of_rank: row.of_rank })
                .collect(),
        }
    }
}

fn peers_view(peers: &PeerAnalysis, analysis: &Analysis) -> PeersView {
    let rank_of = |index: usize| analysis.ranks[index].trace.identity.rank.unwrap_or(index as u32);
    let all_skew_ns: i64 = peers.blame.iter().map(|blame| blame.skew_ns).sum();
    let doing = analysis.doing();
    let mut blame: Vec<_> = peers
        .blame
        .iter()
        .enumerate()
        .map(|(index, blame)| BlameView {
            rank: rank_of(index),
            skew_ns: blame.skew_ns,
            share: share(blame.skew_ns, all_skew_ns),
            times_last: blame.times_last,
            doing: doing.get(index).cloned().unwrap_or_default(),
        })
        .collect();
    blame.sort_by_key(|b| (std::cmp::Reverse(b.skew_ns), b.rank));
    PeersView {
        clock_estimator: peers.clocks.correction.estimator(),
        clock_residual_ns: peers.clocks.spread_max_ns,
        matched: peers.matches.len() as u64,
        split: peers.splits.iter().map(|splits| splits.len() as u64).sum(),
        not_split: peers
            .not_split
            .iter()
            .map(|n| NotSplitView {
                reason: n.reason.key(),
                label: n.reason.label(),
                count: n.kernels,
                time_ns: n.duration_ns,
            })
            .collect(),
        ranks: peers
            .totals
            .iter()
            .enumerate()
            .map(|(index, totals)| PeerRankView {
                rank: rank_of(index),
                clock_offset_ns: peers.clocks.offsets_ns.get(index).copied(),
                wait_ns: totals.wait_ns,
                bubble_ns: totals.bubble_ns,
                transfer_ns: totals.transfer_ns,
                not_split_ns: totals.not_split_ns,
            })
            .collect(),
        blame,
        bandwidth: peers
            .bandwidth
            .iter()
            .map(|b| BandwidthView {
                collective: b.kind.key(),
                label: b.kind.label(),
                group: group_name(peers, b.group),
                group_size: b.ranks,
                count: b.count,
                bytes: b.bytes,
                median_transfer_ns: b.median_ns,
                median_bus_gb_per_s: b.bus_bytes_per_second() / 1e9,
                best_bus_gb_per_s: b.best_bus_bytes_per_second() / 1e9,
            })
            .collect(),
    }
}

fn group_name(peers: &PeerAnalysis, group: u32) -> String {
    let Some(group) = peers.groups.get(group as usize) else { return String::new() };
    group.description.clone().filter(|d| !d.is_empty()).or_else(|| group.name.clone()).unwrap_or_default()
}

impl From<Untraced> for UntracedView {
    fn from(untraced: Untraced) -> Self {
        Self {
            traced_step_ns: untraced.traced_step_ns,
            untraced_step_ns: untraced.untraced_step_ns,
            ratio: untraced.ratio(),
            outside_productive: untraced.outside_productive,
        }
    }
}

impl From<&FileReading> for TraceFileView {
    fn from(file: &FileReading) -> Self {
        Self {
            file: file.path.display().to_string(),
            format: file.format.key(),
            bytes: file.bytes,
            events: file.events,
            ignored: file.ignored,
            device_events: file.device_events,
            lost_device_events: file.lost_device_events,
            device_coverage: file.device_coverage(),
            kernel_coverage: file.kernel_coverage(),
            truncated: file.truncated,
            degraded: file.is_degraded(),
            findings: file.findings.iter().map(TraceFindingView::from).collect(),
        }
    }
}

impl From<&ReadFinding> for TraceFindingView {
    fn from(finding: &ReadFinding) -> Self {
        Self {
            cause: finding.cause.key(),
            label: finding.cause.label(),
            count: finding.count,
            removed_ns: finding.removed_ns,
            first_at: finding.first_at,
            example: finding.example.clone(),
        }
    }
}
