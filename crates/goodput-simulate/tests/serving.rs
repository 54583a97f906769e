//! The accounting of simulated serving fleets finds their own books, in integers.
#![allow(clippy::unwrap_used)]

use goodput_core::records::FileId;
use goodput_core::serving::{Floor, HeldUse, RowIdeal, ServingRecords, account};
use goodput_records::serving::read_serving;
use goodput_simulate::serving::{Scenario, simulate};
use proptest::prelude::*;

fn assert_books(scenario: &Scenario) {
    let fleet = simulate(scenario);
    let mut records = ServingRecords::default();
    let report = read_serving("serving.jsonl", FileId(0), fleet.log.as_bytes(), &mut records).unwrap();
    assert_eq!((report.used, report.refused, report.repaired), (report.rows, 0, 0), "{:?}", report.findings);
    // Prefill FLOPs of the header, as the verb fills them.
    for sample in &mut records.samples {
        sample.flops = Some(u128::from(sample.tokens) * u128::from(scenario.flops_per_token));
    }
    let ideal = RowIdeal {
        bytes_per_second: Some(scenario.bytes_per_second),
        flops_per_second: Some(scenario.flops_per_second),
        weight_bytes: Some(scenario.weight_bytes),
        kv_bytes_per_token: Some(scenario.kv_bytes_per_token),
    };
    let account = account(&mut records, (None, None), |_, _| ideal).unwrap();
    let truth = &fleet.truth;
    assert_eq!(account.warnings, [], "a clean log");
    assert_eq!(
        (account.window.from().as_nanos(), account.window.to().as_nanos()),
        (truth.from_ns, truth.to_ns)
    );
    assert_eq!(account.rows.len(), 1);
    let row = &account.rows[0];
    for used in HeldUse::ALL {
        assert_eq!(row.used(used).device_ns(), truth.uses.get(&used).copied().unwrap_or(0), "{used:?}");
    }
    assert_eq!((row.held().device_ns(), row.lives), (truth.held(), truth.lives));
    assert_eq!(row.headroom().device_ns(), truth.headroom());
    let decode = &row.decode;
    assert_eq!(decode.busy.device_ns(), truth.decode_busy);
    assert_eq!((decode.steps, decode.tokens), (truth.decode_steps, truth.decode_tokens));
    let ideal_ns = |floor| decode.ideal(floor, &row.ideal).unwrap().device_ns();
    assert_eq!(ideal_ns(Floor::Weights), truth.decode_ideal_weights);
    assert_eq!(ideal_ns(Floor::WeightsAndKv), truth.decode_ideal_weights_and_kv);
    assert_eq!((decode.dispatch.device_ns(), decode.exchange.device_ns()), (truth.dispatch, truth.exchange));
    let prefill = &row.prefill;
    assert_eq!(
        (prefill.busy.device_ns(), prefill.prompts, prefill.tokens),
        (truth.prefill_busy, truth.prompts, truth.prefill_tokens)
    );
    assert_eq!(prefill.ideal(&row.ideal).unwrap().device_ns(), truth.prefill_ideal);
    let pool = &account.pools[0];
    assert_eq!(pool.held.device_ns(), truth.held());
    assert_eq!(pool.no_demand.device_ns(), truth.pool.no_demand);
    assert_eq!(pool.placement_wait.device_ns(), truth.pool.placement_wait);
    assert_eq!(pool.incomplete.device_ns(), truth.pool.incomplete);
    assert_eq!(pool.scattered.device_ns(), truth.pool.scattered);
    assert_eq!(pool.waiting_ns, truth.pool.waiting);
    // Every device-nanosecond of ready time stands once.
    assert_eq!(decode.busy + prefill.busy + row.headroom() + row.work_unknown(), row.ready());
}

#[test]
fn the_default_fleet() {
    let scenario = Scenario::default();
    assert_books(&scenario);
    let truth = simulate(&scenario).truth;
    assert!(
        HeldUse::ALL
            .iter()
            .filter(|used| **used != HeldUse::Unsettled)
            .all(|used| truth.uses.contains_key(used))
    );
    assert!(truth.pool.incomplete > 0 && truth.pool.placement_wait > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_fleets(
        seed in any::<u64>(),
        days in 1u32..4,
        counts in (1u32..6, 0u32..3, 0u32..5, 0u32..5),
        hours in (0.5..200.0f64, 0.5..200.0f64),
        sample_s in 30u32..7200,
        eager in any::<bool>(),
        peak_load in 0.05..1.0f64,
    ) {
        assert_books(&Scenario {
            seed,
            days,
            replicas: counts.0,
            warm_pool: counts.1,
            burst_replicas: counts.2,
            mixed_nodes: counts.3,
            failure_h: hours.0,
            update_h: hours.1,
            sample_s: sample_s.max(300),
            eager,
            peak_load,
            ..Scenario::default()
        });
    }
}
