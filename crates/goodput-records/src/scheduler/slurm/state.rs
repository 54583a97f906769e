//! Slurm's words for job states and for the reasons of a wait.

use goodput_core::records::{JobState, WaitReason};

/// The state behind one word of a job table (`CANCELLED by 1003` and the cut `CANCELLED+` included);
/// [`JobState::Other`] when the word is unknown.
///
/// Words for a job that still holds its nodes while it starts or ends (`CONFIGURING`, `COMPLETING`,
/// …) are [`JobState::Running`].
///
/// ```
/// use goodput_core::records::JobState;
/// use goodput_records::scheduler::slurm::state::job_state;
/// assert_eq!(job_state("CANCELLED by 1003"), JobState::Cancelled);
/// assert_eq!(job_state("OUT_OF_ME+"), JobState::OutOfMemory);
/// ```
pub fn job_state(text: &str) -> JobState {
    let word = text.split_ascii_whitespace().next().unwrap_or("");
    match word {
        "PENDING" => JobState::Pending,
        "RUNNING" | "COMPLETING" | "CONFIGURING" | "STAGE_OUT" | "SIGNALING" | "POWER_UP_NODE"
        | "UPDATE_DB" | "EXPEDITING" => JobState::Running,
        "COMPLETED" => JobState::Completed,
        "CANCELLED" | "REVOKED" => JobState::Cancelled,
        "FAILED" | "LAUNCH_FAILED" | "RECONFIG_FAIL" => JobState::Failed,
        "TIMEOUT" => JobState::Timeout,
        "NODE_FAIL" => JobState::NodeFail,
        "PREEMPTED" => JobState::Preempted,
        "OUT_OF_MEMORY" => JobState::OutOfMemory,
        "BOOT_FAIL" => JobState::BootFail,
        "DEADLINE" => JobState::Deadline,
        "REQUEUED" | "REQUEUE_FED" | "REQUEUE_HOLD" | "SPECIAL_EXIT" => JobState::Requeued,
        "RESIZING" => JobState::Resizing,
        "SUSPENDED" | "STOPPED" => JobState::Suspended,
        _ => match word.strip_suffix('+') {
            Some(cut) if cut.len() >= 5 => cut_state(cut),
            _ => JobState::Other,
        },
    }
}

/// The only state whose word begins with `cut`: `--format=State%10` cuts words and marks them with `+`.
fn cut_state(cut: &str) -> JobState {
    const LONG: [JobState; 6] = [
        JobState::Cancelled,
        JobState::Completed,
        JobState::NodeFail,
        JobState::Preempted,
        JobState::OutOfMemory,
        JobState::BootFail,
    ];
    LONG.into_iter().find(|state| state.word().starts_with(cut)).unwrap_or(JobState::Other)
}

/// The state behind a list of words, as JSON of Slurm 23.11 and later writes it: a base state and
/// flags. The flags `REQUEUED` and `RESIZING` say how an attempt ended, and then the base state
/// (`PENDING`) is that of the attempt that follows.
pub fn job_state_of_list<'a>(words: impl IntoIterator<Item = &'a str>) -> JobState {
    let mut base = JobState::Other;
    for word in words {
        match job_state(word) {
            ended @ (JobState::Requeued | JobState::Resizing) => return ended,
            state if base == JobState::Other => base = state,
            _ => {}
        }
    }
    base
}

/// What a wait's reason means for eligibility.
///
/// ```
/// use goodput_core::records::WaitReason;
/// use goodput_records::scheduler::slurm::state::wait_reason;
/// assert_eq!(wait_reason("Resources"), WaitReason::Eligible);
/// assert_eq!(wait_reason("QOSMaxGRESPerUser"), WaitReason::Limit);
/// assert_eq!(wait_reason("DependencyNeverSatisfied"), WaitReason::NotEligible);
/// ```
pub fn wait_reason(text: &str) -> WaitReason {
    let word = text.trim_matches(|c: char| c.is_whitespace() || c == '(' || c == ')');
    match word {
        "" | "None" | "Resources" | "Priority" => WaitReason::Eligible,
        "Dependency"
        | "DependencyNeverSatisfied"
        | "BeginTime"
        | "JobHeldUser"
        | "JobHeldAdmin"
        | "JobHoldMaxRequeue"
        | "JobArrayTaskLimit"
        | "Reservation"
        | "ReservationDeleted"
        | "PartitionDown"
        | "PartitionInactive"
        | "Cleaning"
        | "Prolog"
        | "BadConstraints"
        | "InvalidAccount"
        | "InvalidQOS"
        | "AccountNotAllowed"
        | "QOSNotAllowed"
        | "QOSAccountNotAllowed"
        | "JobLaunchFailure"
        | "FedJobLock" => WaitReason::NotEligible,
        "Licenses" | "PartitionTimeLimit" | "PartitionNodeLimit" | "AccountingPolicy" | "TimeLimit" => {
            WaitReason::Limit
        }
        _ if word.contains("held") => WaitReason::NotEligible,
        _ if ["Assoc", "QOS", "Max"].iter().any(|start| word.starts_with(start)) => WaitReason::Limit,
        _ if word.contains("Grp") => WaitReason::Limit,
        _ => WaitReason::Eligible,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(&["COMPLETED"], JobState::Completed)]
    #[case(&["PENDING", "REQUEUED"], JobState::Requeued)]
    #[case(&["PENDING", "RESIZING"], JobState::Resizing)]
    #[case(&["RUNNING", "COMPLETING"], JobState::Running)]
    #[case(&["CANCELLED", "COMPLETING"], JobState::Cancelled)]
    #[case(&["NEW_FLAG", "RUNNING"], JobState::Running)]
    #[case(&[], JobState::Other)]
    fn lists_of_states(#[case] words: &[&str], #[case] expected: JobState) {
        assert_eq!(job_state_of_list(words.iter().copied()), expected);
    }

    #[rstest]
    #[case("CANCELLED+", JobState::Cancelled)]
    #[case("C+", JobState::Other)]
    #[case("VANISHED", JobState::Other)]
    #[case("", JobState::Other)]
    fn unknown_and_cut_words(#[case] text: &str, #[case] expected: JobState) {
        assert_eq!(job_state(text), expected);
    }

    #[rstest]
    #[case("AssocGrpGRES", WaitReason::Limit)]
    #[case("AssocMaxJobsLimit", WaitReason::Limit)]
    #[case("MaxJobsPerAccount", WaitReason::Limit)]
    #[case("(PartitionTimeLimit)", WaitReason::Limit)]
    #[case("launch_failed_requeued_held", WaitReason::NotEligible)]
    #[case("ReqNodeNotAvail", WaitReason::Eligible)]
    fn reasons(#[case] text: &str, #[case] expected: WaitReason) {
        assert_eq!(wait_reason(text), expected);
    }
}
