//! From amounts to the term that a fix must shorten: the triage flow and the table of trace patterns, as rules that
//! carry their evidence. A finding is a hypothesis; the step measured after one change decides.

mod rules;
mod symptom;
mod term;
mod triage;

pub use rules::{
    ContentionTime, Culprit, Evidence, Finding, NOTICEABLE, RooflineTime, findings, lost_by_term,
};
pub use symptom::Symptom;
pub use term::Term;
pub use triage::{Answer, Level, Question, Triage, triage};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Class;
    use crate::partition::{Charge, HostCause};
    use crate::trace::CollectiveKind;

    fn evidence(amounts: &[(Charge, i64)]) -> Evidence {
        Evidence {
            window_ns: amounts.iter().map(|(_, ns)| ns).sum(),
            amounts: amounts.to_vec(),
            steps: 1,
            ..Evidence::default()
        }
    }

    const ALL_REDUCE: CollectiveKind = CollectiveKind::AllReduce;

    /// Worked example E14: the same ten-to-fourteen milliseconds, two owners.
    #[test]
    fn a_straggler_and_exposed_communication_are_told_apart() {
        let straggler = evidence(&[
            (Charge::Compute(Class::Gemm), 8_000_000),
            (Charge::PeerWait, 4_000_000),
            (Charge::Transfer(ALL_REDUCE), 2_000_000),
        ]);
        let exposed =
            evidence(&[(Charge::Compute(Class::Gemm), 8_000_000), (Charge::Transfer(ALL_REDUCE), 6_000_000)]);
        let term = |e: &Evidence| triage(e).unwrap().term;
        assert_eq!(term(&straggler), Some(Term::Synchronisation));
        assert_eq!(term(&exposed), Some(Term::Communication));
        assert_eq!(findings(&straggler)[0].symptom, Symptom::BarrierWaits);
        assert_eq!(findings(&exposed)[0].symptom, Symptom::ExposedCollectives);
        assert_ne!(Symptom::BarrierWaits.owner(), Symptom::ExposedCollectives.owner());
    }

    #[test]
    fn one_rank_cannot_tell_transfer_from_waiting() {
        let alone =
            evidence(&[(Charge::Compute(Class::Gemm), 50), (Charge::CommunicationNotSplit(ALL_REDUCE), 50)]);
        let triage = triage(&alone).unwrap();
        assert_eq!(triage.term, None);
        assert!(triage.next.unwrap().contains("other members"));
        assert_eq!(findings(&alone)[0].symptom, Symptom::ExposedNotSplit);
    }

    #[test]
    fn an_input_wait_leaves_the_program_and_its_upper_bound() {
        let waiting =
            evidence(&[(Charge::Compute(Class::Gemm), 40), (Charge::HostLate(HostCause::DataLoader), 60)]);
        let triage = triage(&waiting).unwrap();
        assert_eq!((triage.level, triage.term), (Level::JobTimeline, Some(Term::Input)));
        assert_eq!(waiting.upper_bound(), Some(1.0));
        assert_eq!(Symptom::InputWaits.boundary(), goodput_core::Boundary::Runtime);
    }

    #[test]
    fn a_busy_device_needs_the_roofline() {
        let mut busy = evidence(&[(Charge::Compute(Class::Gemm), 95), (Charge::LaunchLatency, 5)]);
        assert_eq!(triage(&busy).unwrap().term, None);
        busy.roofline =
            Some(RooflineTime { bandwidth_ns: 80, compute_ns: 10, below_both_ns: 5, computing_ns: 95 });
        let triage = triage(&busy).unwrap();
        assert_eq!((triage.level, triage.term), (Level::Counters, Some(Term::DataMovement)));
    }

    #[test]
    fn small_amounts_are_no_findings_and_nothing_traced_has_no_triage() {
        let quiet = evidence(&[(Charge::Compute(Class::Gemm), 999), (Charge::PeerWait, 1)]);
        assert!(findings(&quiet).is_empty());
        assert_eq!(triage(&Evidence::default()), None);
        assert_eq!(Evidence::default().upper_bound(), None);
    }

    #[test]
    fn every_charge_but_compute_has_a_pattern_and_terms_are_summed() {
        let e = evidence(&[
            (Charge::Compute(Class::Gemm), 10),
            (Charge::HostLate(HostCause::Dispatch), 5),
            (Charge::LaunchLatency, 2),
            (Charge::Unattributed, 1),
        ]);
        let terms = lost_by_term(&e);
        assert_eq!(terms[0].0, Term::Dispatch);
        assert_eq!(terms.iter().map(|(.., ns)| ns).sum::<i64>(), 8);
    }
}
