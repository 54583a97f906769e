//! Pipelines of every schedule with any times.

use goodput_predict::run::Schedule;
use goodput_predict::schedule::{Bucket, Exchange, Host, Part, Pipeline};
use proptest::prelude::*;

fn schedules() -> impl Strategy<Value = Schedule> {
    prop_oneof![
        Just(Schedule::GPipe),
        Just(Schedule::OneForwardOneBackward),
        (1_u32..4).prop_map(|parts| Schedule::Interleaved { parts }),
        Just(Schedule::ZeroBubbleH1),
        Just(Schedule::ZeroBubble2p),
        Just(Schedule::DualPipe),
    ]
}

prop_compose! {
    fn parts_of(count: usize)(
        times in prop::collection::vec(prop::array::uniform5(0.0..1000.0_f64), count),
    ) -> Vec<Part> {
        times.into_iter().map(|[forward_ns, input_gradient_ns, weight_gradient_ns, send, back]| Part {
            forward_ns,
            input_gradient_ns,
            weight_gradient_ns,
            send_forward_ns: send / 5.0,
            send_backward_ns: back / 5.0,
            activation: 1.0,
            weight_activation: 0.4,
            ..Part::default()
        }).collect()
    }
}

pub fn pipelines() -> impl Strategy<Value = Pipeline> {
    (schedules(), 1_usize..7, 1_usize..9, any::<bool>(), any::<bool>(), any::<bool>(), 0.0..400.0_f64)
        .prop_flat_map(|(schedule, stages, groups, blocking_sends, optimizers_wait, hosted, enqueue)| {
            let stages = match schedule {
                Schedule::DualPipe => stages.next_multiple_of(2),
                Schedule::Interleaved { .. } => stages.max(2),
                _ => stages,
            };
            let micro_batches = match schedule {
                Schedule::DualPipe => stages * 2 + groups * 2,
                Schedule::Interleaved { .. } => stages * groups,
                _ => groups * 3,
            };
            let count = stages * goodput_predict::schedule::parts_of_a_stage(schedule);
            (parts_of(count), prop::collection::vec(0.0..500.0_f64, stages)).prop_map(
                move |(parts, exchanged)| {
                    let bucket = |share, ns| Bucket { part: 0, share, ns };
                    Pipeline {
                        schedule,
                        stages,
                        micro_batches,
                        parts,
                        pairs: false,
                        blocking_sends,
                        exchanges: exchanged
                            .iter()
                            .map(|&ns| Exchange {
                                reductions: vec![bucket(0.5, ns), bucket(1.0, ns)],
                                gathers: vec![bucket(0.0, ns), bucket(0.5, ns)],
                            })
                            .collect(),
                        optimizer_ns: exchanged,
                        optimizers_wait,
                        host: hosted.then_some(Host {
                            forward_ns: enqueue,
                            backward_ns: enqueue * 1.5,
                            waits_for_receives: blocking_sends,
                        }),
                    }
                },
            )
        })
}
