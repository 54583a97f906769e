#!/usr/bin/env python3
"""A long job's log in the format of ml-goodput-measurement, with its own truth.

    gen_timeline.py OUT.jsonl --steps 1000000 [--faults 10] [--event-every 100] [--save-every 100] [--seed 1]

Each fault strikes in the middle of a step; five minutes later the job starts again and resumes behind its last save. Beside OUT
stands OUT with .truth.json: seconds of each category by the definitions of docs/method.md.
"""
import argparse
import json
import random

parser = argparse.ArgumentParser()
parser.add_argument("out")
parser.add_argument("--steps", type=int, default=1_000_000)
parser.add_argument("--faults", type=int, default=10)
parser.add_argument("--event-every", type=int, default=100)
parser.add_argument("--save-every", type=int, default=100)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
random.seed(args.seed)
NS = 1_000_000_000
LAUNCH, DOWN, SAVE, EVALUATION, COMPILATION = 115 * NS, 300 * NS, 3 * NS // 2, 3 * NS, 40 * NS
now = 1_760_000_000 * NS
truth = {"held": -now, "retained": 0, "startup": 0, "rework": 0, "recovery": 0, "checkpoint_pause": 0, "evaluation": 0}
faults = {(i + 1) * args.steps // (args.faults + 1) for i in range(args.faults)}

with open(args.out, "w") as out:
    def log(**entry):
        fields = ", ".join(f'"{key}": {value if isinstance(value, str) else json.dumps(value)}' for key, value in entry.items())
        out.write('{"job_name": "bench", ' + fields + "}\n")

    def stamp(at):
        return f"{at // NS}.{at % NS:09d}"

    def launch(charged_to):
        global now
        log(job_start_time=stamp(now))
        log(tpu_init_start_time=stamp(now))
        now += LAUNCH
        log(tpu_init_end_time=stamp(now))
        truth[charged_to] += LAUNCH

    launch("startup")
    step, saved, since_save, first, charged_to = 0, 0, [], True, "startup"
    while step < args.steps:
        log(step_count=step, step_start_time=stamp(now))
        length = 2 * NS + random.randrange(-40_000_000, 40_000_000)
        if step in faults:
            faults.discard(step)
            # The log ends here: the last step counts the fault-free two seconds, the rest is recovery.
            now += length // 2 + DOWN
            truth["recovery"] += length // 2 + DOWN - 2 * NS
            truth["rework"] += sum(since_save) + 2 * NS
            truth["retained"] -= sum(since_save)
            step, since_save, first, charged_to = saved, [], True, "recovery"
            launch("recovery")
            continue
        now += length + (COMPILATION if first else 0)
        truth[charged_to] += COMPILATION if first else 0
        first = False
        truth["retained"] += length
        since_save.append(length)
        if step % args.event_every == args.event_every - 1:
            log(custom_badput_event_type='"eval"', custom_badput_event_start_time=stamp(now))
            now += EVALUATION
            log(custom_badput_event_type='"eval"', custom_badput_event_end_time=stamp(now))
            truth["evaluation"] += EVALUATION
        if step % args.save_every == args.save_every - 1:
            log(step=step, event_type='"save"', synchronous="true", checkpoint_manager_blocking_start_time=stamp(now),
                checkpoint_manager_blocking_duration_secs="1.5")
            now += SAVE
            truth["checkpoint_pause"] += SAVE
            saved, since_save = step + 1, []
        step += 1
    log(job_end_time=stamp(now))
truth["held"] += now
json.dump({f"{key}_s": value / NS for key, value in truth.items()}, open(args.out.replace(".jsonl", "") + ".truth.json", "w"), indent=1)
