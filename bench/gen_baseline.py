#!/usr/bin/env python3
"""Writes a history of daily reports: `gen_baseline.py JOBS DAYS HISTORY.jsonl [SEED]`.

Every figure scatters with autocorrelated noise and a weekly cycle. In the last quarter NCCL changes, and with it one job in a
hundred loses a tenth of its MFU.
"""
import datetime
import json
import random
import sys

DAY_NS = 86_400_000_000_000
FIRST = datetime.date(2026, 1, 1)


def noise(rng, days):
    """Unit scatter: first-order autoregression of coefficient 0.3, a weekend one standard deviation low."""
    state, out = rng.gauss(0, 1), []
    for day in range(days):
        state = 0.3 * state + 0.954 * rng.gauss(0, 1)
        out.append(state - (1.0 if (FIRST + datetime.timedelta(day)).weekday() >= 5 else 0.0))
    return out


def dates(days):
    for day in range(days):
        date = FIRST + datetime.timedelta(day)
        yield day, str(date), (date - datetime.date(1970, 1, 1)).days * DAY_NS


def blank(kind, day, from_ns, report):
    return {"schema": "goodput.baseline-row/1", "kind": kind, "day": day, "from_ns": from_ns, "to_ns": from_ns + DAY_NS,
            "factors": {"runtime_coverage": 1.0, "program_coverage": 1.0}, "contract": "0123456789abcdef", "report": report}


def job_rows(rng, i, days):
    mfu, step, tail, start, pause, wait = (noise(rng, days) for _ in range(6))
    lost = 0.9 if i % 100 == 0 else 1.0
    for d, day, from_ns in dates(days):
        late = d >= days * 3 // 4
        p50 = 2.0 * (1 + 0.01 * step[d])
        yield blank("job", day, from_ns, f"{i:08x}{d:08x}") | {
            "job": f"train-{i:04}", "pool": f"pool-{i % 5}", "model": f"model-{i % 7}", "devices": 64 * (1 + i % 8),
            "software": {"driver": "580.65", "nccl": "2.27" if late else "2.26", "torch": "2.9.1"},
            "program": {"mfu": round(0.42 * (1 + 0.02 * mfu[d]) * (lost if late else 1.0), 6), "ideal": "compute",
                        "device": "H100-SXM5", "dtype": "bf16", "peak_flops_per_second": 989e12,
                        "convention": "model FLOPs of real tokens, forward and backward", "coverage": 1.0},
            "steps": {"count": 40000, "p50_s": round(p50, 6), "p90_s": round(1.02 * p50, 6),
                      "p99_s": round(1.2 * p50 * (1 + 0.01 * max(tail[d], -5)), 6), "max_s": 9 * p50},
            "slowest": {"ranks": 64 * (1 + i % 8), "rank": rng.randrange(64), "host": f"node-{rng.randrange(4000):04}",
                        "p50_s": round(1.004 * p50, 6), "typical_p50_s": round(p50, 6)},
            "events": {"held_s": 86400.0, "launches": 1, "startup_s": round(300 * (1 + 0.1 * max(start[d], -9)), 3),
                       "failures": int(rng.random() < 0.1), "recovery_s": 400.0, "preemptions": 0, "preemption_s": 0.0,
                       "input_wait_s": round(2600 + 300 * max(wait[d], -8), 3), "pauses": 24,
                       "pause_s": round(240 * (1 + 0.1 * max(pause[d], -9)), 3), "commits": 24,
                       "rework_s": round(rng.expovariate(1 / 900), 3) if rng.random() < 0.1 else 0.0}}


def pool_rows(rng, i, days):
    wait, gang, fragments = (noise(rng, days) for _ in range(3))
    for d, day, from_ns in dates(days):
        p50 = 600 * 2.718 ** (0.3 * wait[d])
        yield blank("pool", day, from_ns, f"p{i:07x}{d:08x}") | {
            "pool": f"pool-{i}", "devices": 4096, "policy": "backfill v6",
            "allocation": {"offered_device_hours": 98304.0, "waits": 200, "wait_p50_s": round(p50, 3),
                           "wait_p90_s": round(6 * p50, 3), "partial_gang": round(max(0.0, 0.02 + 0.004 * gang[d]), 6),
                           "fragmentation": round(max(0.0, 0.05 + 0.005 * fragments[d]), 6)}}


def main():
    jobs, days, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    with open(path, "w") as out:
        # Day by day, as `goodput baseline update` appends.
        for day in zip(*[job_rows(rng, i, days) for i in range(jobs)], *[pool_rows(rng, i, days) for i in range(5)]):
            for row in day:
                out.write(json.dumps(row, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
