//! Measures of fragmentation against published figures: the FGD simulator's own test (hkust-adsl,
//! `pkg/utils/frag_test.go`) and volcano-sh/volcano#3948.

use goodput_core::scheduling::{SharedNode, TaskClass, task_fragments, whole_node_fragments};

/// CPU in thousandths, share of a device in thousandths, devices, device type (`-` for any), percent.
const MIX_A: &str = "
6000,465,1,-,9.33 8000,440,1,2080,9.15 8000,475,1,T4,8.76 8000,440,1,P100,8.72 2000,465,1,-,8.68
12000,900,1,-,8.65 4000,900,1,-,8.43 16000,678,1,T4,8.36 8000,500,1,-,8.29 6000,511,1,-,8.11
14000,1000,2,2080,0.54 4000,1000,1,2080,0.43 32000,1000,2,T4,0.43 16000,1000,1,V100M16,0.40 64000,1000,2,-,0.40
10000,1000,2,-,0.40 11400,1000,1,T4,0.36 16000,1000,1,T4,0.36 4000,1000,2,-,0.36 14000,1000,2,V100M16,0.36
8000,1000,4,-,0.36 16000,1000,2,-,0.32 2000,1000,1,T4,0.32 6000,1000,1,-,0.32 4000,1000,1,-,0.32
5000,1000,1,-,0.32 32000,1000,4,V100M16,0.32 32000,1000,2,-,0.32 24000,1000,8,2080,0.32 40000,1000,4,-,0.29
32000,1000,8,-,0.29 32000,1000,1,T4,0.29 16000,1000,1,-,0.25 7000,1000,1,V100M16,0.25 24000,1000,1,T4,0.25";

const MIX_B: &str = "
15700,1000,1,-,28.69 11900,1000,1,-,18.93 11400,1000,1,-,12.27 1000,0,0,-,7.36 18710,1000,1,-,4.85
8200,1000,1,-,3.79 16400,1000,1,-,3.31 9810,1000,1,-,1.97 15200,1000,1,-,1.87 11200,1000,1,-,1.81
14200,1000,1,-,1.76 12000,0,0,-,1.65 14900,1000,1,-,1.39 60200,1000,4,-,1.23 64200,1000,8,-,1.07
32200,1000,4,-,1.01 17400,1000,2,-,0.91 30200,1000,2,-,0.69 16000,1000,1,-,0.64 15000,1000,1,-,0.59
64000,1000,8,-,0.53 15000,0,0,-,0.53 11910,1000,1,-,0.53 120200,1000,8,-,0.48 11300,1000,1,-,0.37
30000,1000,2,-,0.32 9800,1000,1,-,0.32 8000,1000,1,-,0.32 2000,1000,1,-,0.27 2000,80,1,-,0.27
1000,1000,1,-,0.27";

fn mix(text: &'static str) -> Vec<TaskClass<'static>> {
    let task = |line: &'static str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [cpu, share, devices, device_type, percent] = fields[..] else { return None };
        Some(TaskClass {
            cpu_milli: cpu.parse().ok()?,
            share_milli: share.parse().ok()?,
            devices: devices.parse().ok()?,
            device_type: if device_type == "-" { "" } else { device_type },
            probability: percent.parse::<f64>().ok()? / 100.0,
        })
    };
    text.split_whitespace().filter_map(task).collect()
}

fn fragments(cpu_milli: u64, devices_milli: &[u32], device_type: &str, mix: &[TaskClass<'_>]) -> f64 {
    task_fragments(&SharedNode { cpu_milli, devices_milli, device_type }, mix)
}

#[test]
fn task_mixes() {
    let (a, b) = (mix(MIX_A), mix(MIX_B));
    assert_eq!((a.len(), b.len()), (35, 31));
    let half = [1000, 1000, 1000, 1000, 0, 0, 0, 0];
    let right = [
        (fragments(1000, &[200, 1000, 1000, 500], "1080", &a), 2566.62),
        (fragments(1000, &[1000; 4], "1080", &a), 3802.40),
        (fragments(1000, &[1000; 8], "1080", &a), 7604.80),
        (fragments(64_000, &[1000; 8], "P100", &b), 887.20),
        (fragments(32_000, &half, "P100", &b), 554.40),
        (fragments(0, &half, "P100", &b), 4000.0),
    ];
    for (found, right) in right {
        assert!((found - right).abs() < 0.01, "{found} is not {right}");
    }
}

#[test]
fn single_tasks() {
    let one = |cpu_milli, share_milli, probability| TaskClass {
        cpu_milli,
        share_milli,
        devices: 1,
        device_type: "",
        probability,
    };
    let used = [200, 1000, 1000, 500];
    let lacks_cpu = fragments(1000, &used, "1080", &[one(6000, 465, 0.0933)]);
    assert!((lacks_cpu - 251.91).abs() < 0.01);
    assert_eq!(fragments(1000, &used, "1080", &[one(0, 1000, 1.0)]), 700.0);
    assert_eq!(fragments(1000, &used, "1080", &[one(0, 200, 1.0)]), 0.0);
    assert_eq!(fragments(1000, &[1000; 4], "1080", &[one(0, 1000, 1.0)]), 0.0);
    let other_type = TaskClass { device_type: "T4", ..one(0, 200, 1.0) };
    assert_eq!(fragments(1000, &used, "1080", &[other_type]), 2700.0);
}

#[test]
fn whole_nodes() {
    // volcano#3948: three nodes of eight with 7 + 6 + 7 used.
    assert_eq!(whole_node_fragments(4, 8, &[0], [(1, 1)]), Some(4.0));
    // Five whole nodes in two blocks hold two gangs of two, one a block; as one block they hold two as well.
    assert_eq!(whole_node_fragments(40, 8, &[3, 2], [(2, 1)]), Some(8.0));
    assert_eq!(whole_node_fragments(40, 8, &[3, 2], [(4, 1)]), Some(40.0));
    assert_eq!(whole_node_fragments(40, 8, &[5], [(4, 1)]), Some(8.0));
    // Sizes weigh by what they ask for.
    assert_eq!(whole_node_fragments(40, 8, &[5], [(4, 3), (5, 1)]), Some(6.0));
    assert_eq!(whole_node_fragments(40, 8, &[5], []), None);
}
