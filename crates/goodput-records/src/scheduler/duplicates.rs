//! Attempts that several rows tell of: overlapping exports, one export given twice, text beside JSON or tables.

use std::cmp::Reverse;

use goodput_core::records::{Attempt, FleetRecords, NodeSet, SourceRef, Symbol};

use crate::{ReadReport, Treatment};

/// Leaves one row of each attempt, and counts the others in the reports of their files as `duplicate`.
///
/// Rows tell of one attempt when they agree in cluster, submit and id (the raw one, or the displayed one where a file
/// has no other) and none contradicts the start of the other: a requeue within the second of its submission is another
/// attempt. The row that tells more stays: started over waiting, ended over running, then the one with more names, and of
/// equals the first; what it leaves out another fills in. Call it once all files are read.
///
/// A row without a cluster is taken to be of the only cluster that other rows name, if there is just one.
pub fn merge_duplicates(records: &mut FleetRecords, report: &mut ReadReport) {
    name_the_only_cluster(records);
    let mut successor = vec![None; records.attempts.len()];
    merge_by(records, &mut successor, |attempt| attempt.key.job);
    merge_by(records, &mut successor, |attempt| attempt.display_id);
    if successor.iter().all(Option::is_none) {
        return;
    }
    for row in 0..successor.len() {
        if let Some(kept) = last(&successor, row) {
            let other = records.attempts[row].clone();
            fill(&mut records.attempts[kept], &other);
        }
    }
    for (row, attempt) in records.attempts.iter().enumerate() {
        if let Some(kept) = last(&successor, row) {
            let kept = records.attempts[kept].source;
            count(attempt.source, kept, records.symbols.get(attempt.display_id), report);
        }
    }
    remove(records, &successor);
}

fn name_the_only_cluster(records: &mut FleetRecords) {
    let mut only = None;
    let mut is_missing = false;
    for cluster in records.attempts.iter().map(|attempt| attempt.key.cluster) {
        if cluster == Symbol::EMPTY {
            is_missing = true;
        } else if *only.get_or_insert(cluster) != cluster {
            return;
        }
    }
    if let Some(only) = only.filter(|_| is_missing) {
        for attempt in &mut records.attempts {
            attempt.key.cluster = only;
        }
    }
}

/// Finds rows of one attempt among those of one id. `successor` tells, for a row that is another's duplicate, which.
fn merge_by(records: &FleetRecords, successor: &mut [Option<u32>], id: impl Fn(&Attempt) -> Symbol) {
    let attempts = &records.attempts;
    let of = |row: u32| &attempts[row as usize];
    let mut rows = of_repeated_ids(records, successor, &id);
    rows.sort_by_key(|&row| {
        let attempt = of(row);
        (id(attempt), attempt.key.cluster, attempt.key.submit, attempt.start.is_none(), attempt.start)
    });
    let is_submitted_together = |&a: &u32, &b: &u32| {
        let (a, b) = (of(a), of(b));
        id(a) == id(b) && a.key.cluster == b.key.cluster && a.key.submit == b.key.submit
    };
    for submitted in rows.chunk_by(is_submitted_together) {
        // Rows that started come first; what never started is an earlier word on the first of them.
        let mut first_kept = None;
        for same in submitted.chunk_by(|&a, &b| of(a).start == of(b).start) {
            let kept = match first_kept {
                Some(kept) if of(same[0]).start.is_none() => kept,
                _ => *same.iter().max_by_key(|&&row| (knowledge(of(row)), Reverse(row))).unwrap_or(&same[0]),
            };
            first_kept.get_or_insert(kept);
            for &row in same.iter().filter(|&&row| row != kept) {
                successor[row as usize] = Some(kept);
            }
        }
    }
}

/// Rows whose id occurs more than once: few, as a rule.
fn of_repeated_ids(
    records: &FleetRecords,
    successor: &[Option<u32>],
    id: impl Fn(&Attempt) -> Symbol,
) -> Vec<u32> {
    let mut times = vec![0_u8; records.symbols.len()];
    for attempt in &records.attempts {
        let times = &mut times[id(attempt).index()];
        *times = times.saturating_add(1);
    }
    let is_repeated = |attempt: &Attempt| id(attempt) != Symbol::EMPTY && times[id(attempt).index()] > 1;
    let rows = records.attempts.iter().zip(successor).zip(0_u32..);
    rows.filter(|((attempt, successor), _)| successor.is_none() && is_repeated(attempt))
        .map(|(_, row)| row)
        .collect()
}

/// The row that stays for this one; `None` when it stays itself.
fn last(successor: &[Option<u32>], row: usize) -> Option<usize> {
    let mut last = successor[row]? as usize;
    while let Some(next) = successor[last] {
        last = next as usize;
    }
    Some(last)
}

/// Whether it tells the end, and how many names.
fn knowledge(attempt: &Attempt) -> (bool, usize) {
    let Attempt { name, user, account, partition, qos, nodes, .. } = attempt;
    let named = [name, user, account, partition, qos].into_iter().filter(|name| **name != Symbol::EMPTY);
    (attempt.end.is_some(), named.count() + usize::from(*nodes != NodeSet::NONE))
}

/// Fills what an attempt's row leaves out from another row of it.
fn fill(kept: &mut Attempt, other: &Attempt) {
    if knowledge(other).1 > knowledge(kept).1 {
        // A table without the column takes a job for eligible from its submission on.
        kept.eligible = other.eligible;
    }
    let names = [
        (&mut kept.name, other.name),
        (&mut kept.user, other.user),
        (&mut kept.account, other.account),
        (&mut kept.partition, other.partition),
        (&mut kept.qos, other.qos),
        (&mut kept.reservation, other.reservation),
    ];
    for (name, other) in names {
        if *name == Symbol::EMPTY {
            *name = other;
        }
    }
    if kept.start.is_some() == other.start.is_some() {
        if kept.nodes == NodeSet::NONE {
            (kept.nodes, kept.node_count) = (other.nodes, other.node_count);
        }
        if kept.devices == 0 {
            kept.devices = other.devices;
        }
    }
}

fn count(dropped: SourceRef, kept: SourceRef, id: &str, report: &mut ReadReport) {
    let path = |source: SourceRef| report.files.get(usize::from(source.file.0)).map(|file| file.path.clone());
    let place = format!("{}:{}", path(kept).unwrap_or_default(), kept.line);
    let Some(file) = report.files.get_mut(usize::from(dropped.file.0)) else { return };
    file.used = file.used.saturating_sub(1);
    *file.skipped.entry("duplicate").or_default() += 1;
    file.find(Treatment::Noted, "duplicate_row", dropped.line, "", || {
        format!("this attempt of job {id} is in {place} too; it counts once")
    });
}

fn remove(records: &mut FleetRecords, successor: &[Option<u32>]) {
    let mut row = 0;
    records.attempts.retain(|_| {
        row += 1;
        successor[row - 1].is_none()
    });
    if records.partial_holds.is_empty() {
        return;
    }
    let mut place = 0;
    let places: Vec<usize> = successor
        .iter()
        .map(|successor| {
            place += usize::from(successor.is_none());
            place.saturating_sub(1)
        })
        .collect();
    for hold in records.partial_holds.iter_mut().filter(|hold| hold.attempt < places.len()) {
        let row = last(successor, hold.attempt).unwrap_or(hold.attempt);
        hold.attempt = places[row];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::slurm::{SlurmOptions, sacct::read_sacct};
    use goodput_core::records::{FileId, JobState};

    fn read(tables: &[&str]) -> (FleetRecords, ReadReport) {
        let (mut records, mut report) = (FleetRecords::new(), ReadReport::default());
        for (number, table) in (0..).zip(tables) {
            let file = read_sacct(
                &format!("{number}.txt"),
                FileId(number),
                table.as_bytes(),
                &SlurmOptions::default(),
                &mut records,
            );
            report.files.push(file.unwrap());
        }
        merge_duplicates(&mut records, &mut report);
        (records, report)
    }

    const MONDAY: &str = "Cluster|JobIDRaw|JobID|State|Submit|Start|End|AllocTRES
c|15|9_0|REQUEUED|1795973100|1795973110|1795973120|gres/gpu=8
c|15|9_0|RUNNING|1795973120|1795973130|Unknown|gres/gpu=8
c|9|9_1|PENDING|1795973100|Unknown|Unknown|
";

    #[test]
    fn a_later_export_tells_how_an_attempt_went_on() {
        let tuesday = "JobID|State|Submit|Start|End|AllocTRES
9_0|COMPLETED|1795973120|1795973130|1795973160|gres/gpu=8
9_1|COMPLETED|1795973100|1795973140|1795973150|gres/gpu=8
";
        for tables in [[MONDAY, tuesday], [tuesday, MONDAY]] {
            let (records, report) = read(&tables);
            let mut states: Vec<_> = records.attempts.iter().map(|a| a.state).collect();
            states.sort();
            assert_eq!(states, [JobState::Completed, JobState::Completed, JobState::Requeued]);
            let skipped: u64 = report.files.iter().filter_map(|file| file.skipped.get("duplicate")).sum();
            assert_eq!(skipped, 2);
            assert_eq!(report.files.iter().map(|file| file.used).sum::<u64>(), 3);
        }
    }

    #[test]
    fn one_export_given_twice_or_pasted_together_counts_once() {
        let pasted = format!("{MONDAY}{MONDAY}");
        for tables in [vec![MONDAY, MONDAY, MONDAY], vec![&pasted]] {
            let (records, report) = read(&tables);
            assert_eq!(records.attempts.len(), 3);
            assert!(report.files.last().unwrap().counts["duplicate_row"] >= 3);
        }
    }

    #[test]
    fn attempts_of_one_second_and_ids_of_two_clusters_are_not_one() {
        let two = "Cluster|JobIDRaw|State|Submit|Start|End|AllocTRES
c|1|REQUEUED|1795973100|1795973100|1795973101|gres/gpu=8
c|1|COMPLETED|1795973100|1795973105|1795973109|gres/gpu=8
d|1|COMPLETED|1795973100|1795973105|1795973109|gres/gpu=8
";
        assert_eq!(read(&[two]).0.attempts.len(), 3);
    }
}
