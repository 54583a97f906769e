//! The work of ready time: a decode and a prefill sample each interval, and their books.

use super::lives::{Fleet, ReadyTime};
use super::{DEVICES, S, Scenario, stamp};
use crate::random::{Purpose, Stream};

/// Shortest time of `amount` at a rate of the replica's devices, in nanoseconds, rounded up.
fn shortest_ns(amount: u128, rate: u64) -> i64 {
    let ns = (amount * 1_000_000_000).div_ceil(u128::from(rate) * u128::from(DEVICES));
    i64::try_from(ns).unwrap_or(i64::MAX)
}

pub(super) fn add(scenario: &Scenario, fleet: &mut Fleet) {
    for (number, ready) in std::mem::take(&mut fleet.ready).iter().enumerate() {
        if !ready.works {
            continue;
        }
        let mut draws = Stream::new(scenario.seed, Purpose::Replica, number as u64, 1);
        let length = i64::from(scenario.sample_s.max(1)) * S;
        let mut from = ready.from;
        while from < ready.to {
            let to = (from + length).min(ready.to);
            sample(scenario, fleet, &mut draws, ready, (from, to));
            from = to;
        }
    }
}

/// Load over the day: least at its start, most in its middle.
fn load(scenario: &Scenario, at: i64) -> f64 {
    let day = (at % (86_400 * S)) as f64 / (86_400.0 * S as f64);
    scenario.peak_load * (0.25 + 0.75 * (1.0 - (2.0 * std::f64::consts::PI * day).cos()) / 2.0)
}

fn sample(
    scenario: &Scenario,
    fleet: &mut Fleet,
    draws: &mut Stream,
    ready: &ReadyTime,
    (from, to): (i64, i64),
) {
    let load = load(scenario, from) * draws.between(0.8, 1.2);
    let length = to - from;
    let stamps = format!("\"from\":{},\"to\":{}", stamp(from), stamp(to));
    let replica = &ready.replica;
    let devices = i128::from(DEVICES);

    let tokens = draws.between(200.0, 4000.0) as u64;
    let prompts = ((length as f64 * load.min(1.0) * 0.2) / (tokens as f64 * 60_000.0)) as u64;
    let prefill_tokens = prompts * tokens;
    let flops = u128::from(prefill_tokens) * u128::from(scenario.flops_per_token);
    let prefill_ns = (shortest_ns(flops, scenario.flops_per_second) as f64 * draws.between(1.4, 2.5)) as i64;
    let prefill_ns = prefill_ns.min(length / 2).max(shortest_ns(flops, scenario.flops_per_second));
    if prompts > 0 && prefill_ns <= length / 2 {
        fleet.lines.push((to, format!(
            "{{\"replica\":\"{replica}\",\"phase\":\"prefill\",{stamps},\"prompts\":{prompts},\"tokens\":{prefill_tokens},\"busy_ns\":{prefill_ns}}}"
        )));
        let truth = &mut fleet.truth;
        truth.prefill_busy += i128::from(prefill_ns) * devices;
        truth.prompts += u128::from(prompts);
        truth.prefill_tokens += u128::from(prefill_tokens);
    }

    let batch = draws.between(1.0, 32.0) as u64;
    let kv_tokens = batch * draws.between(300.0, 6000.0) as u64;
    let kv = u128::from(kv_tokens) * u128::from(scenario.kv_bytes_per_token);
    let floor_ns = shortest_ns(u128::from(scenario.weight_bytes) + kv, scenario.bytes_per_second);
    let dispatch_ns =
        if scenario.eager { draws.between(5e6, 9e6) as i64 } else { draws.between(1e5, 3e5) as i64 };
    let exchange_ns = draws.between(8e5, 2e6) as i64;
    let step_ns = floor_ns + dispatch_ns + exchange_ns + draws.between(1e5, 2e6) as i64;
    let wanted_ns = (length as f64 * load.min(1.0) * 0.8) as i64;
    let steps = wanted_ns.min(length - length / 2) / step_ns;
    if steps > 0 {
        let tokens = steps.unsigned_abs() * batch;
        fleet.lines.push((to, format!(
            "{{\"replica\":\"{replica}\",\"phase\":\"decode\",{stamps},\"steps\":{steps},\"step_ns\":{step_ns},\"tokens\":{tokens},\
             \"batch\":{batch},\"kv_tokens\":{kv_tokens},\"dispatch_ns\":{dispatch_ns},\"exchange_ns\":{exchange_ns}}}"
        )));
        let truth = &mut fleet.truth;
        let of_steps = |each_ns: i64| i128::from(steps) * i128::from(each_ns) * devices;
        truth.decode_busy += of_steps(step_ns);
        truth.dispatch += of_steps(dispatch_ns);
        truth.exchange += of_steps(exchange_ns);
        truth.decode_steps += u128::from(steps.unsigned_abs());
        truth.decode_tokens += u128::from(tokens);
        truth.kv_bytes += u128::from(steps.unsigned_abs()) * kv;
    }
}
