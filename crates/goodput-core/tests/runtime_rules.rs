//! The rules of runtime goodput one by one, on hand-made logs with figures a person can check.

#![allow(clippy::unwrap_used, clippy::cast_possible_wrap, missing_docs)]

mod runtime_log;

use goodput_core::Pattern::{
    CheckpointPause, DeclaredWork, Evaluation, Hang, InputWait, Pending, Preemption, Reconfiguration,
    Recovery, Rework, RuntimeUnsettled, Standby, Startup, Suspension, Teardown, Zombie,
};
use goodput_core::records::StopCause::{Ended, Fault, Finished, Preempted};
use goodput_core::records::{JobState, Phase, StepWork};
use goodput_core::runtime::{Allocation, HeldInterval, RuntimeError, RuntimeOptions, Use, account};
use goodput_core::{Interval, Window};
use runtime_log::{Log, at, ended, held};

/// Launch at 0, 50 steps of 2 s from 100 to 200.
fn started() -> Log {
    Log::new().launch(0).steps(0..50, 100, 2)
}

#[test]
fn startup_runs_from_gang_complete_to_the_first_step() {
    // The gang was complete 10 s before the log's first line.
    let job = started().stop(Finished, 200).in_held(&[held(-10, 200)]);
    job.is(100.0, &[(Startup, 110.0)]);
    assert_eq!(job.0.fault_free_step_ns, Some(2_000_000_000));
    assert_eq!((job.0.measured.launches, job.0.measured.startup_ns), (1, 110_000_000_000));
}

#[test]
fn a_preemption_pays_for_lost_work_reload_and_warm_up_but_not_for_the_queue() {
    // Evicted at 200, 600 s in the queue, resumes at 40: 20 s of work lost; first step 12 s.
    let log = started()
        .stop(Preempted, 200)
        .launch(800)
        .record(40, 1, 850, None, 0)
        .steps(41..60, 862, 2)
        .stop(Finished, 900);
    let job = log.in_held(&[ended(0, 205, JobState::Preempted), held(800, 900)]);
    // Retained: 40 + 20 steps of 2 s. Preemption: 20 lost + 5 to release + 50 reload + 10 warm-up.
    job.is(120.0, &[(Startup, 100.0), (Preemption, 85.0)]);
    assert_eq!(job.0.queue_wait_ns, 595_000_000_000);
    assert_eq!((job.0.measured.preemptions, job.0.measured.failures), (1, 0));
    assert_eq!((job.0.steps.executed, job.0.steps.discarded, job.0.steps.retained), (70, 10, 60));
}

#[test]
fn the_schedulers_word_decides_between_failure_preemption_and_a_cold_launch() {
    let resumed = |log: Log| log.launch(300).steps(50..60, 340, 2).stop(Finished, 360);
    let of = |state, log: Log| resumed(log).in_held(&[ended(0, 200, state), held(300, 360)]);
    for (state, pattern) in [
        (JobState::Preempted, Preemption),
        (JobState::NodeFail, Recovery),
        (JobState::Failed, Recovery),
        (JobState::Requeued, Reconfiguration),
    ] {
        of(state, started()).is(120.0, &[(Startup, 100.0), (pattern, 40.0)]);
    }
    for state in [JobState::Completed, JobState::Timeout, JobState::Cancelled] {
        let job = of(state, started());
        job.is(120.0, &[(Startup, 140.0)]);
        assert_eq!(job.0.measured.launches, 2);
    }
    // The log says that it ended gracefully, the scheduler that it was evicted.
    of(JobState::Preempted, started().stop(Ended, 200)).is(120.0, &[(Startup, 100.0), (Preemption, 40.0)]);
    // Requeued by somebody: why, only the log can tell.
    of(JobState::Requeued, started().stop(Preempted, 200)).is(120.0, &[(Startup, 100.0), (Preemption, 40.0)]);
    of(JobState::Requeued, started().stop(Fault, 200)).is(120.0, &[(Startup, 100.0), (Recovery, 40.0)]);
    // A fault that the log names outweighs an exit that the scheduler only calls cancelled.
    of(JobState::Cancelled, started().stop(Fault, 200)).is(120.0, &[(Startup, 100.0), (Recovery, 40.0)]);
}

#[test]
fn an_end_and_a_new_start_inside_one_allocation_is_recovery_not_a_cold_launch() {
    let log = started().stop(Ended, 200).launch(260).steps(50..60, 300, 2).stop(Finished, 320);
    log.in_held(&[held(0, 320)]).is(120.0, &[(Startup, 100.0), (Recovery, 100.0)]);
}

#[test]
fn a_failed_relaunch_changes_the_cause_from_its_own_fault_on() {
    // Evicted at 200; relaunched in a new allocation at 300; that launch fails at 330; steps from 400.
    let log = started()
        .stop(Preempted, 200)
        .launch(300)
        .stop(Fault, 330)
        .launch(350)
        .steps(40..50, 400, 2)
        .stop(Finished, 420);
    let job = log.in_held(&[held(0, 200), held(300, 420)]);
    // The eviction pays for its lost work and for the launch that failed, the fault for the rest.
    job.is(100.0, &[(Startup, 100.0), (Preemption, 50.0), (Recovery, 70.0)]);
    assert_eq!((job.0.measured.preemptions, job.0.measured.failures), (1, 1));
}

#[test]
fn silence_that_ends_in_a_new_start_is_recovery_from_the_last_evidence() {
    let log = started().launch(500).steps(45..50, 560, 2).stop(Finished, 570);
    // Step 49 counts f until 200.
    log.in_held(&[held(0, 570)]).is(100.0, &[(Startup, 100.0), (Rework, 10.0), (Recovery, 360.0)]);
}

#[test]
fn commits_settle_pending_and_retained() {
    let log = |end: Log| end.in_held(&[held(0, 200)]);
    let recording = || Log::recording_commits().launch(0).steps(0..50, 100, 2);
    // Open end: the ten steps after the commit of step 39 are pending.
    let open = log(recording().commit(39, 190));
    open.is(80.0, &[(Startup, 100.0), (Pending, 20.0)]);
    assert_eq!(open.0.steps.pending, 10);
    assert!(!open.warned("commits_unknown"));
    // The finished job's final commit holds everything; a graceful end says nothing about it.
    log(recording().commit(39, 190).stop(Finished, 200)).is(100.0, &[(Startup, 100.0)]);
    log(recording().commit(39, 190).stop(Ended, 200)).is(80.0, &[(Startup, 100.0), (Pending, 20.0)]);
    // No commit at all.
    log(recording()).is(0.0, &[(Startup, 100.0), (Pending, 100.0)]);
}

#[test]
fn steps_after_the_last_commit_become_rework_once_an_attempt_resumes_before_them() {
    let log = Log::recording_commits()
        .launch(0)
        .steps(0..50, 100, 2)
        .commit(39, 190)
        .stop(Fault, 200)
        .launch(210)
        .restored(39, 230)
        .steps(40..50, 240, 2)
        .commit(44, 255);
    let job = log.in_held(&[held(0, 260)]);
    job.is(90.0, &[(Startup, 100.0), (Rework, 20.0), (Recovery, 40.0), (Pending, 10.0)]);
    // A relaunch that restored its state and has not stepped yet has discarded them too.
    let log = Log::recording_commits()
        .launch(0)
        .steps(0..50, 100, 2)
        .commit(39, 190)
        .stop(Fault, 200)
        .launch(210)
        .restored(39, 230);
    log.in_held(&[held(0, 240)]).is(80.0, &[(Startup, 100.0), (Rework, 20.0), (Recovery, 40.0)]);
}

#[test]
fn a_resume_beyond_the_last_commit_shows_that_a_later_one_was_used() {
    let log = Log::recording_commits().launch(0).steps(0..50, 100, 2).commit(39, 190).launch(210).steps(
        45..50,
        240,
        2,
    );
    let job = log.in_held(&[held(0, 250)]);
    job.is(90.0, &[(Startup, 100.0), (Rework, 10.0), (Recovery, 40.0), (Pending, 10.0)]);
}

#[test]
fn evidence_after_the_window_settles_steps_inside_it() {
    let log = Log::recording_commits().launch(0).steps(0..50, 100, 2).commit(49, 300).steps(50..60, 300, 2);
    log.in_window(&[held(0, 400)], Some((0, 200))).is(100.0, &[(Startup, 100.0)]);
    // A rollback after the window discards steps inside it.
    let log = started().launch(200).steps(40..60, 220, 2);
    log.in_window(&[held(0, 260)], Some((0, 200))).is(80.0, &[(Startup, 100.0), (Rework, 20.0)]);
}

#[test]
fn the_window_cuts_steps_at_its_edges() {
    let mut log = Log::new().launch(0).steps(0..50, 100, 2).stop(Finished, 200);
    log.timeline.work = vec![StepWork { tokens: 1000, model_flops: 8000 }; 50];
    let job = log.in_window(&[held(0, 200)], Some((101, 150)));
    job.is(49.0, &[]);
    // Half of the first step, 24 whole ones.
    assert_eq!((job.0.work.tokens, job.0.work.model_flops), (24_500, 196_000));
    assert_eq!(job.0.work.covered, job.0.retained);
    assert_eq!(job.0.steps.executed, 24);
}

#[test]
fn rollbacks_deeper_than_the_last_resume_discard_steps_of_several_attempts_once() {
    let log = Log::new()
        .launch(0)
        .steps(0..50, 10, 2)
        .launch(110)
        .steps(40..60, 120, 2)
        .launch(160)
        .steps(10..20, 170, 2)
        .stop(Finished, 190);
    let job = log.in_held(&[held(0, 190)]);
    // 0-9 and 10-19 of the last attempt are retained; 40 of the first and 20 of the second are not.
    job.is(40.0, &[(Startup, 10.0), (Rework, 120.0), (Recovery, 20.0)]);
}

#[test]
fn a_record_of_several_steps_is_divided_in_proportion() {
    // Interval records of ten steps; the second attempt resumes at 35.
    let log = Log::new()
        .launch(0)
        .record(0, 10, 10, Some(30), 0)
        .record(10, 10, 30, Some(50), 0)
        .record(20, 10, 50, Some(70), 0)
        .record(30, 10, 70, Some(90), 0)
        .launch(100)
        .record(35, 10, 110, Some(130), 0)
        .stop(Finished, 130);
    let job = log.in_held(&[held(0, 130)]);
    job.is(90.0, &[(Startup, 10.0), (Rework, 10.0), (Recovery, 20.0)]);
    assert_eq!((job.0.steps.executed, job.0.steps.retained, job.0.steps.discarded), (50, 45, 5));
}

#[test]
fn pauses_and_evaluations_among_discarded_steps_keep_their_own_category() {
    let log = Log::new()
        .launch(0)
        .steps(0..25, 10, 2)
        .phase(Phase::CheckpointPause, 60, 65)
        .phase(Phase::Evaluation, 65, 75)
        .steps(25..50, 75, 2)
        .launch(125)
        .steps(10..20, 135, 2)
        .stop(Finished, 155);
    let job = log.in_held(&[held(0, 155)]);
    job.is(
        40.0,
        &[(Startup, 10.0), (Rework, 80.0), (CheckpointPause, 5.0), (Evaluation, 10.0), (Recovery, 10.0)],
    );
    assert_eq!((job.0.measured.pauses, job.0.measured.pause_ns), (1, 5_000_000_000));
}

#[test]
fn a_declared_event_wins_over_the_step_it_overlaps() {
    // Steps with ends that cover an evaluation of 6 s.
    let log = Log::new()
        .launch(0)
        .whole_steps(0..10, 10, 2)
        .record(10, 1, 30, Some(38), 0)
        .phase(Phase::Evaluation, 31, 37)
        .whole_steps(11..20, 38, 2)
        .stop(Finished, 56);
    log.in_held(&[held(0, 56)]).is(40.0, &[(Startup, 10.0), (Evaluation, 6.0)]);
}

#[test]
fn of_overlapping_events_the_one_that_began_first_has_the_time() {
    let log = Log::new()
        .launch(0)
        .steps(0..10, 10, 2)
        .phase(Phase::Evaluation, 30, 40)
        .phase(Phase::CheckpointPause, 35, 50)
        .phase(Phase::Declared, 36, 45)
        .steps(10..20, 50, 2)
        .stop(Finished, 70);
    log.in_held(&[held(0, 70)]).is(40.0, &[(Startup, 10.0), (Evaluation, 10.0), (CheckpointPause, 10.0)]);
}

#[test]
fn input_wait_is_carved_out_of_steps() {
    // 3 s a step, of which 1 s is waiting: as a number, and as a phase.
    let numbered = (0..20)
        .fold(Log::new().launch(0), |log, i| log.record(i, 1, 10 + 3 * i as i64, Some(13 + 3 * i as i64), 1));
    let job = numbered.stop(Finished, 70).in_held(&[held(0, 70)]);
    job.is(40.0, &[(Startup, 10.0), (InputWait, 20.0)]);
    assert_eq!(job.0.fault_free_step_ns, Some(2_000_000_000));
    assert_eq!(job.0.measured.input_wait_ns, 20_000_000_000);
    let phased = (0..20).fold(Log::new().launch(0), |log, i| {
        let from = 10 + 3 * i as i64;
        log.phase(Phase::InputWait, from, from + 1).record(i, 1, from + 1, Some(from + 3), 0)
    });
    // The first batch is waited for before the first step.
    phased.stop(Finished, 70).in_held(&[held(0, 70)]).is(40.0, &[(Startup, 11.0), (InputWait, 19.0)]);
}

#[test]
fn warm_up_excess_and_input_wait_belong_to_what_caused_the_start() {
    // Two slow steps after the launch: 10 s + 4 s wait, then 5 s; then 2 s each.
    let log = Log::new()
        .launch(0)
        .record(0, 1, 10, Some(24), 4)
        .record(1, 1, 24, Some(29), 0)
        .whole_steps(2..40, 29, 2)
        .stop(Fault, 105)
        .launch(110)
        .record(40, 1, 120, Some(127), 0)
        .whole_steps(41..50, 127, 2)
        .stop(Finished, 145);
    let job = log.in_held(&[held(0, 145)]);
    // Startup 10 + 4 + 8 + 3; recovery 15 + 5.
    job.is(100.0, &[(Startup, 25.0), (Recovery, 20.0)]);
    assert_eq!(job.0.step_times.count, 47);
}

#[test]
fn discarded_warm_up_steps_are_rework_with_their_whole_duration() {
    let log = Log::new()
        .launch(0)
        .record(0, 1, 10, Some(20), 3)
        .whole_steps(1..20, 20, 2)
        .launch(58)
        .whole_steps(0..20, 60, 2)
        .stop(Finished, 100);
    log.in_held(&[held(0, 100)]).is(40.0, &[(Startup, 10.0), (Rework, 48.0), (Recovery, 2.0)]);
}

#[test]
fn persistent_slowness_after_a_restart_is_productive() {
    // A slow node joins at the restart and stays: 2 s steps become 3 s, for good.
    let log = Log::new()
        .launch(0)
        .whole_steps(0..100, 10, 2)
        .stop(Fault, 210)
        .launch(215)
        .whole_steps(100..140, 220, 3)
        .stop(Finished, 340);
    log.in_held(&[held(0, 340)]).is(320.0, &[(Startup, 10.0), (Recovery, 10.0)]);
}

#[test]
fn each_allocation_and_each_size_has_its_own_fault_free_time() {
    // 8 devices at 2 s a step, then 4 at 4 s after a resize: no warm-up, and no excess.
    let mut log = Log::new()
        .launch(0)
        .steps(0..20, 10, 2)
        .phase(Phase::Reconfiguration, 50, 60)
        .resized(4, 60)
        .steps(20..40, 60, 4)
        .stop(Finished, 140);
    log.timeline.devices = Some(8);
    let job = log.alone(None);
    job.is(40.0 * 8.0 + 80.0 * 4.0, &[(Startup, 80.0), (Reconfiguration, 80.0)]);
    assert_eq!((job.0.devices, job.0.devices_known), (8, true));
    assert_eq!(job.0.held.device_seconds(), 8.0 * 60.0 + 4.0 * 80.0);
    assert_eq!(job.0.measured.held_ns, 140_000_000_000);
}

#[test]
fn a_resize_without_a_pause_is_no_loss_by_itself() {
    let allocation = |from, to, devices| HeldInterval { devices, ..ended(from, to, JobState::Resizing) };
    let log = Log::new().launch(0).whole_steps(0..20, 10, 2).whole_steps(20..40, 50, 3).stop(Finished, 110);
    let job = log.in_held(&[allocation(0, 50, 4), HeldInterval { devices: 2, ..held(50, 110) }]);
    job.is(40.0 * 4.0 + 60.0 * 2.0, &[(Startup, 40.0)]);
    assert_eq!(job.0.queue_wait_ns, 0);
}

#[test]
fn hot_spares_are_standby() {
    let log = Log::new().launch(0).standby(2, 0).steps(0..20, 10, 2).stop(Finished, 50);
    let job = log.in_held(&[HeldInterval { devices: 10, ..held(0, 50) }]);
    job.is(40.0 * 8.0, &[(Startup, 80.0), (Standby, 100.0)]);
}

#[test]
fn teardown_is_short_and_a_zombie_is_long() {
    let ended_at_200 = || started().stop(Finished, 200);
    ended_at_200().in_held(&[held(0, 230)]).is(100.0, &[(Startup, 100.0), (Teardown, 30.0)]);
    ended_at_200().in_held(&[held(0, 7400)]).is(100.0, &[(Startup, 100.0), (Zombie, 7200.0)]);
    // Without evidence of an end, long silence is a hang; a release just after the last step is its end.
    started().in_held(&[held(0, 7400)]).is(100.0, &[(Startup, 100.0), (Hang, 7200.0)]);
    let completed = ended(0, 230, JobState::Completed);
    started().in_held(&[completed]).is(100.0, &[(Startup, 100.0), (Teardown, 30.0)]);
    let cancelled = ended(0, 7400, JobState::Cancelled);
    started().in_held(&[cancelled]).is(100.0, &[(Startup, 100.0), (Hang, 7200.0)]);
    // A fault that the log reports an hour after the last step: it hung until then.
    let log = started().stop(Fault, 3800);
    let cancelled = ended(0, 3830, JobState::Cancelled);
    log.in_held(&[cancelled]).is(100.0, &[(Startup, 100.0), (Hang, 3600.0), (Teardown, 30.0)]);
    // Still held: it had not ended, and was on its way to a new step.
    log.in_held(&[held(0, 3830)]).is(100.0, &[(Startup, 100.0), (Hang, 3600.0), (Recovery, 30.0)]);
}

#[test]
fn silence_is_counted_from_the_last_work_and_not_from_the_last_step() {
    let evaluating = || started().phase(Phase::Evaluation, 200, 3800);
    // Still held, and quiet for no longer than a step may be: one is under way.
    evaluating()
        .in_held(&[held(0, 3805)])
        .is(100.0, &[(Startup, 100.0), (Evaluation, 3600.0), (Pending, 5.0)]);
    evaluating()
        .in_held(&[held(0, 7400)])
        .is(100.0, &[(Startup, 100.0), (Evaluation, 3600.0), (Hang, 3600.0)]);
    let completed = ended(0, 3830, JobState::Completed);
    evaluating().in_held(&[completed]).is(100.0, &[(Startup, 100.0), (Evaluation, 3600.0), (Teardown, 30.0)]);
    let stopped = evaluating().stop(Finished, 3803);
    stopped.in_held(&[held(0, 3830)]).is(100.0, &[(Startup, 100.0), (Evaluation, 3600.0), (Teardown, 30.0)]);
}

#[test]
fn a_fault_without_a_new_step_is_recovery_until_the_job_ends() {
    let failing = started().stop(Fault, 205);
    // The job still holds its allocation when the records end, or its node died.
    failing.in_held(&[held(0, 230)]).is(100.0, &[(Startup, 100.0), (Recovery, 30.0)]);
    for log in [&failing, &started()] {
        let node_failed = ended(0, 230, JobState::NodeFail);
        log.in_held(&[node_failed]).is(100.0, &[(Startup, 100.0), (Recovery, 30.0)]);
        let evicted = ended(0, 230, JobState::Preempted);
        log.in_held(&[evicted]).is(100.0, &[(Startup, 100.0), (Preemption, 30.0)]);
    }
    // Its own end: what follows the fault is the end of execution.
    for state in [JobState::Failed, JobState::Cancelled, JobState::Timeout] {
        failing.in_held(&[ended(0, 230, state)]).is(100.0, &[(Startup, 100.0), (Teardown, 30.0)]);
    }
}

#[test]
fn a_last_step_ends_where_the_next_attempt_or_a_declared_phase_begins() {
    // The next attempt's first step comes 1 s after the last one, of which f would be 2 s.
    let log = started().steps(20..30, 199, 2).stop(Finished, 219);
    log.in_held(&[held(0, 219)]).is(60.0, &[(Startup, 100.0), (Rework, 59.0)]);
    // A declared phase ends it later, within the silence multiple; a suspension is inside it.
    let log =
        started().phase(Phase::Declared, 201, 210).launch(210).steps(50..60, 220, 2).stop(Finished, 240);
    log.in_held(&[held(0, 240)]).is(121.0, &[(Startup, 100.0), (DeclaredWork, 9.0), (Recovery, 10.0)]);
    let log =
        started().phase(Phase::Suspension, 199, 229).launch(240).steps(50..60, 250, 2).stop(Finished, 270);
    log.in_held(&[held(0, 270)]).is(120.0, &[(Startup, 100.0), (Suspension, 30.0), (Recovery, 20.0)]);
}

#[test]
fn a_step_under_way_at_an_open_end_is_pending_and_no_hang() {
    // Lines come when steps end; the last one 7 s ago, where a step takes 2 s.
    let log = || Log::recording_commits().launch(0).whole_steps(0..20, 10, 2).commit(19, 50);
    log().in_held(&[ended(0, 57, JobState::Running)]).is(40.0, &[(Startup, 10.0), (Pending, 7.0)]);
    log().in_held(&[ended(0, 90, JobState::Running)]).is(40.0, &[(Startup, 10.0), (Hang, 40.0)]);
    // A pending step is pending whole, its input wait included.
    let waiting = log().record(20, 1, 50, Some(55), 3);
    waiting.in_held(&[ended(0, 55, JobState::Running)]).is(40.0, &[(Startup, 10.0), (Pending, 5.0)]);
}

#[test]
fn a_graceful_end_soon_after_the_last_step_ends_it() {
    let log = started().stop(Finished, 203);
    log.in_held(&[held(0, 203)]).is(100.0, &[(Startup, 100.0), (Teardown, 3.0)]);
    let log = started().stop(Finished, 199);
    log.in_held(&[held(0, 199)]).is(99.0, &[(Startup, 100.0)]);
}

#[test]
fn suspension_is_taken_from_the_log_or_located_in_its_silence() {
    let suspended = HeldInterval { suspended_ns: 60_000_000_000, ..held(0, 260) };
    // The log stamps starts only: step 24 began at 148, step 25 at 210.
    let log = Log::new().launch(0).steps(0..25, 100, 2).steps(25..50, 210, 2).stop(Finished, 260);
    let right = [(Startup, 100.0), (Suspension, 60.0)];
    log.in_held(&[suspended]).is(100.0, &right);
    // The log declares it: the scheduler's sum is not counted again.
    let log = Log::new()
        .launch(0)
        .steps(0..25, 100, 2)
        .phase(Phase::Suspension, 149, 209)
        .steps(25..50, 210, 2)
        .stop(Finished, 260);
    log.in_held(&[suspended]).is(100.0, &right);
    // Nowhere in the log is there room for it.
    let job = Log::new().launch(0).steps(0..130, 0, 2).stop(Finished, 260).in_held(&[suspended]);
    assert!(job.warned("suspension_not_located"));
    job.is(260.0, &[]);
}

#[test]
fn a_gap_beyond_the_silence_multiple_counts_f_and_is_unsettled() {
    // No start for 62 s where f is 2 s; a gap of 16 s is a slow step.
    let log = Log::new().launch(0).steps(0..25, 100, 2).steps(25..50, 210, 2).stop(Finished, 260);
    let job = log.in_held(&[held(0, 260)]);
    job.is(100.0, &[(Startup, 100.0), (RuntimeUnsettled, 60.0)]);
    assert!(job.warned("silence_unsettled"));
    let log = Log::new().launch(0).steps(0..25, 100, 2).steps(25..50, 164, 2).stop(Finished, 214);
    log.in_held(&[held(0, 214)]).is(114.0, &[(Startup, 100.0)]);
}

#[test]
fn time_between_the_ends_and_starts_of_steps_is_unsettled_beyond_the_stamps_resolution() {
    let log = |resolution_ns| {
        let mut log =
            Log::new().launch(0).whole_steps(0..10, 10, 2).whole_steps(10..20, 31, 2).stop(Finished, 51);
        log.timeline.stamp_resolution_ns = resolution_ns;
        log.in_held(&[held(0, 51)])
    };
    log(1).is(40.0, &[(Startup, 10.0), (RuntimeUnsettled, 1.0)]);
    log(1_000_000_000).is(41.0, &[(Startup, 10.0)]);
}

#[test]
fn an_open_phase_lasts_to_the_next_entry_of_its_execution() {
    let log = Log::new().launch(0).steps(0..10, 10, 2).open_phase(Phase::Evaluation, 30).steps(10..20, 50, 2);
    log.stop(Finished, 70).in_held(&[held(0, 70)]).is(40.0, &[(Startup, 10.0), (Evaluation, 20.0)]);
    // Before a restart nobody knows when it ended: silence that ends in a new start.
    let log = Log::new().launch(0).steps(0..10, 10, 2).open_phase(Phase::Evaluation, 30).launch(80);
    let job = log.steps(10..20, 90, 2).stop(Finished, 110).in_held(&[held(0, 110)]);
    job.is(40.0, &[(Startup, 10.0), (Recovery, 60.0)]);
}

#[test]
fn allocations_without_evidence_are_unsettled() {
    // The second of three allocations left no line in the log.
    let log = started().stop(Ended, 200).launch(600).steps(50..60, 640, 2).stop(Finished, 660);
    let job = log.in_held(&[held(0, 200), held(300, 500), held(600, 660)]);
    job.is(120.0, &[(Startup, 140.0), (RuntimeUnsettled, 200.0)]);
    // The scheduler says that it failed: one recovery from the first fault on.
    let job = log.in_held(&[
        ended(0, 200, JobState::NodeFail),
        ended(300, 310, JobState::NodeFail),
        held(600, 660),
    ]);
    job.is(120.0, &[(Startup, 100.0), (Recovery, 50.0)]);
    // The log was overwritten: only the last allocation has evidence.
    let log = Log::new().launch(600).steps(50..60, 640, 2).stop(Finished, 660);
    let job = log.in_held(&[ended(0, 200, JobState::NodeFail), held(600, 660)]);
    job.is(20.0, &[(RuntimeUnsettled, 200.0), (Recovery, 40.0)]);
    // Nothing at all.
    let job = Log::new().in_held(&[held(0, 100)]);
    job.is(0.0, &[(RuntimeUnsettled, 100.0)]);
}

#[test]
fn a_log_that_begins_mid_run_says_nothing_of_the_time_before() {
    let log = Log::new().steps(5000..5010, 300, 2).stop(Finished, 320);
    log.in_held(&[held(0, 320)]).is(20.0, &[(RuntimeUnsettled, 300.0)]);
}

#[test]
fn a_launch_without_a_step_is_startup_and_a_relaunch_without_one_recovery() {
    Log::new().launch(10).in_held(&[held(0, 100)]).is(0.0, &[(Startup, 100.0)]);
    let job = started().stop(Fault, 200).launch(220).in_held(&[held(0, 300)]);
    job.is(100.0, &[(Startup, 100.0), (Recovery, 100.0)]);
}

#[test]
fn without_an_allocation_record_held_time_runs_from_first_evidence_to_a_logged_end_or_the_window() {
    let log = started().stop(Ended, 200);
    let job = log.alone(Some((-50, 400)));
    job.is(100.0, &[(Startup, 100.0)]);
    assert!(job.warned("no_allocation_record") && job.warned("devices_unknown"));
    started().alone(Some((0, 400))).is(100.0, &[(Startup, 100.0), (Hang, 200.0)]);
    started().alone(None).is(100.0, &[(Startup, 100.0)]);
    // An end that a new start follows does not end held time.
    let log = started().stop(Ended, 200).launch(800).steps(50..60, 840, 2).stop(Finished, 860);
    log.alone(None).is(120.0, &[(Startup, 100.0), (Recovery, 640.0)]);
}

#[test]
fn steps_outside_every_held_interval_are_named_with_both_clocks() {
    let job = started().in_held(&[held(10_000, 10_100)]);
    assert!(job.warned("outside_held"));
    assert_eq!(job.retained(), 0.0);
    job.adds_up();
}

#[test]
fn a_clock_that_steps_back_is_named_and_nothing_is_clamped() {
    let log = started().steps(50..100, 195, 2).stop(Finished, 295);
    let job = log.in_held(&[held(0, 295)]);
    job.is(195.0, &[(Startup, 100.0)]);
    let warning = job.0.warnings.iter().find(|w| w.code == "clock_steps_back").unwrap();
    assert_eq!(warning.source.unwrap().line, 52);
    // Around a restart: the launch belongs after the step of the line before, whatever its stamp.
    let log = started().stop(Fault, 200).launch(150).steps(50..60, 160, 2).stop(Finished, 180);
    let job = log.in_held(&[held(0, 200)]);
    assert_eq!((job.retained(), job.0.steps.retained), (120.0, 60));
    job.adds_up();
}

#[test]
fn the_same_step_from_two_writers_is_one_step() {
    let log = (0..20).fold(Log::new().launch(0), |log, i| {
        log.record(i, 1, 10 + 4 * i as i64, None, 0).record(i, 1, 11 + 4 * i as i64, None, 0)
    });
    let job = log.stop(Finished, 90).in_held(&[held(0, 90)]);
    job.is(80.0, &[(Startup, 10.0)]);
    assert!(job.warned("second_writers"));
    assert_eq!(job.0.steps.executed, 20);
}

#[test]
fn lanes_show_what_the_amounts_say_and_merge_what_is_alike() {
    let log = started().launch(220).steps(40..60, 240, 2).stop(Finished, 280);
    let job = log.in_held(&[held(0, 280)]);
    for (used_for, seconds) in [
        (Use::Productive, job.retained()),
        (Use::Lost(Rework), job.lost(Rework)),
        (Use::Lost(Recovery), job.lost(Recovery)),
    ] {
        assert_eq!(job.drawn(used_for), seconds);
    }
    assert_eq!(job.0.lanes[0].len(), 5);
    assert_eq!(job.0.lanes[0][0].interval, Interval::new(at(0), at(100)));
}

#[test]
fn losses_name_the_lines_that_show_them() {
    let log = started().phase(Phase::Declared, 200, 210).steps(50..60, 210, 2).stop(Finished, 230);
    let job = log.in_held(&[held(0, 230)]);
    let declared = job.0.losses.iter().find(|l| l.pattern == DeclaredWork).unwrap();
    assert_eq!(declared.evidence[0].line, 52);
}

#[test]
fn what_cannot_be_accounted_is_refused_with_a_reason() {
    let account = |log: &Log, allocation, options| account(&log.timeline, &allocation, &options);
    let nothing = account(&Log::new(), Allocation::FromLog { devices: None }, RuntimeOptions::default());
    assert_eq!(nothing.unwrap_err(), RuntimeError::NothingToAccount);
    let overlapping = Allocation::Recorded(vec![held(0, 100), held(50, 200)]);
    let refused = account(&started(), overlapping, RuntimeOptions::default()).unwrap_err();
    assert!(matches!(refused, RuntimeError::OverlappingAllocations { .. }));
    let options = RuntimeOptions { silence_multiple: f64::NAN, ..RuntimeOptions::default() };
    let refused = account(&started(), Allocation::FromLog { devices: None }, options).unwrap_err();
    assert!(refused.to_string().contains("silence_multiple"));
    // A window in which nothing was held is an answer: nothing.
    let window = Some(Window::new(at(900), at(1000)).unwrap());
    let options = RuntimeOptions { window, ..RuntimeOptions::default() };
    let job = account(&started(), Allocation::Recorded(vec![held(0, 200)]), options).unwrap();
    assert!(job.held.is_zero() && job.losses.is_empty());
}
