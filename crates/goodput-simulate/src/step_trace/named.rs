//! Scenarios with a name.

use super::{
    Capture, HostTimes, KernelTimes, Layout, Messages, Network, Scenario, SendMode, Stall, Straggler,
};

impl Scenario {
    /// Names of the scenarios that [`Scenario::named`] knows.
    pub const NAMES: [&'static str; 11] = [
        "data_parallel",
        "straggler",
        "tensor_parallel",
        "pipeline_1f1b",
        "expert",
        "overlap_contention",
        "host_bound",
        "input_bound",
        "clock_skew",
        "cut_captures",
        "hybrid",
    ];

    /// A small scenario by its name; `None` for a name that is not in [`Scenario::NAMES`].
    pub fn named(name: &str) -> Option<Self> {
        let mut scenario = Self { name: name.to_owned(), ..Self::data_parallel() };
        match name {
            "data_parallel" => {}
            // One rank computes a quarter slower in one step: the others wait for it there.
            "straggler" => {
                scenario.stragglers =
                    vec![Straggler { rank: 2, from_step: 1, to_step: 2, slower_permille: 250 }];
            }
            // Two exposed all-reduces a layer and pass.
            "tensor_parallel" => {
                scenario.layout = Layout { tensor: 4, data: 1, ..scenario.layout };
            }
            // Four stages, four micro-batches: a bubble of 3/7 of the computation before overheads.
            "pipeline_1f1b" => {
                scenario.layout = Layout { pipeline: 4, data: 1, ..scenario.layout };
                scenario.micro_batches = 4;
                scenario.layers_per_stage = 2;
            }
            // Tokens go to experts on four ranks and back, in every layer.
            "expert" => {
                scenario.layout = Layout { expert: 4, data: 1, ..scenario.layout };
            }
            // Gradients are summed in small buckets beside the backward pass, which that stretches.
            "overlap_contention" => {
                scenario.contention_permille = 180;
                scenario.messages.layers_per_bucket = 1;
            }
            // Dispatch takes longer than the kernels.
            "host_bound" => {
                scenario.kernels = KernelTimes {
                    matmul_ns: 9_000,
                    attention_ns: 12_000,
                    norm_ns: 2_500,
                    elementwise_ns: 3_100,
                    optimizer_ns: 40_000,
                    ..scenario.kernels
                };
                scenario.host.dispatch_ns = 47_000;
                scenario.messages.gradient_bytes_per_layer = 4_194_304;
                scenario.host.allocations = 2;
            }
            // Batches come late, on one rank much later.
            "input_bound" => {
                scenario.host.data_loader_ns = 5_900_000;
                scenario.stalls = vec![Stall { rank: 1, step: 2, longer_ns: 16_500_000 }];
            }
            // Nothing is wrong but the clocks.
            "clock_skew" => scenario.clock_offsets_ns = vec![0, 1_234_567, -350_001, 42],
            // The traces begin and end at different instants, and one rank has none.
            "cut_captures" => {
                scenario.layout = Layout { tensor: 2, ..Layout::replicas(2) };
                scenario.steps = 5;
                scenario.missing_ranks = vec![3];
                scenario.captures = vec![
                    Capture { rank: 0, from_ns: 2_000_000, to_ns: 72_000_000 },
                    Capture { rank: 1, from_ns: 19_000_000, to_ns: 69_000_000 },
                ];
            }
            // All of it at once, on sixteen ranks of two nodes.
            "hybrid" => {
                scenario.layout = Layout { tensor: 2, expert: 2, data: 2, pipeline: 2, devices_per_node: 8 };
                scenario.steps = 2;
                scenario.layers_per_stage = 2;
                scenario.micro_batches = 3;
                scenario.contention_permille = 120;
                scenario.clock_offsets_ns =
                    (0..16).map(|rank| (rank * rank * 7_919) % 100_003 - 50_000).collect();
                scenario.stragglers =
                    vec![Straggler { rank: 5, from_step: 0, to_step: 2, slower_permille: 150 }];
                scenario.stalls = vec![Stall { rank: 12, step: 1, longer_ns: 2_000_000 }];
            }
            _ => return None,
        }
        Some(scenario)
    }

    /// A dense model on `ranks` replicas, of a size to measure with: `layers` transformer layers, `steps` steps.
    pub fn scaled(ranks: u32, steps: u32, layers: u32) -> Self {
        Self {
            name: "scaled".to_owned(),
            layout: Layout::replicas(ranks),
            steps,
            layers_per_stage: layers,
            ..Self::data_parallel()
        }
    }

    /// Four replicas, gradients summed beside the backward pass.
    fn data_parallel() -> Self {
        Self {
            name: "data_parallel".to_owned(),
            seed: 1,
            layout: Layout::replicas(4),
            steps: 3,
            first_step: 10,
            layers_per_stage: 4,
            micro_batches: 1,
            kernels: KernelTimes {
                matmul_ns: 180_000,
                attention_ns: 240_000,
                norm_ns: 22_000,
                elementwise_ns: 31_000,
                experts_ns: 400_000,
                embedding_ns: 17_000,
                loss_ns: 64_000,
                optimizer_ns: 210_000,
                optimizer_kernels: 3,
            },
            jitter_permille: 30,
            host: HostTimes {
                dispatch_ns: 6_300,
                call_ns: 3_100,
                launch_latency_ns: 5_200,
                data_loader_ns: 130_000,
                optimizer_ns: 90_000,
                allocation_ns: 340_000,
                allocations: 0,
                reads_loss: true,
                wake_ns: 4_700,
            },
            messages: Messages {
                activation_bytes: 16_777_216,
                gradient_bytes_per_layer: 100_663_296,
                layers_per_bucket: 2,
                expert_bytes: 16_777_216,
                batch_bytes: 1_048_576,
            },
            network: Network {
                latency_ns: 9_000,
                local_bytes_per_us: 220_000,
                remote_bytes_per_us: 42_000,
                host_bytes_per_us: 25_000,
                stream_wait_ns: 1_700,
                stream_gap_ns: 900,
                send: SendMode::Rendezvous,
            },
            contention_permille: 0,
            stragglers: Vec::new(),
            stalls: Vec::new(),
            clock_offsets_ns: Vec::new(),
            captures: Vec::new(),
            missing_ranks: Vec::new(),
        }
    }
}
