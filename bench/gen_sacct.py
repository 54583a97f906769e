#!/usr/bin/env python3
"""A Slurm site's accounting export of any size, with its own truth.

    gen_sacct.py OUT --rows 1000000 [--nodes 2000] [--seed 1]

Writes OUT/sacct.txt (the export that docs/readers.md asks for, delimiter 0x1f), OUT/events.txt and OUT/truth.json with the
held GPU-seconds. Blocks of 1 to 16 nodes of 8 GPUs run one job after another, so no node is ever allocated twice.
"""
import argparse
import json
import os
import random
import time

COLUMNS = ("JobIDRaw|JobID|User|Account|Partition|QOS|Reservation|State|ExitCode|Submit|Eligible|Start|End|Suspended|ElapsedRaw|"
           "Timelimit|NNodes|ReqTRES|AllocTRES|NodeList|Flags|Reason|JobName").split("|")
STATES = ["COMPLETED"] * 80 + ["FAILED"] * 10 + ["CANCELLED by 1003"] * 5 + ["TIMEOUT"] * 3 + ["NODE_FAIL", "PREEMPTED"]

parser = argparse.ArgumentParser()
parser.add_argument("out")
parser.add_argument("--rows", type=int, default=1_000_000)
parser.add_argument("--nodes", type=int, default=2000)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
random.seed(args.seed)
os.makedirs(args.out, exist_ok=True)
BEGIN = 1_790_000_000


def stamp(second):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


blocks, first = [], 1
while first <= args.nodes:
    size = min(random.choice([1, 1, 1, 2, 4, 8, 16]), args.nodes - first + 1)
    blocks.append((first, size))
    first += size
rows, held, last = [], 0, BEGIN
per_block = -(-args.rows // len(blocks))
for first, size in blocks:
    at = BEGIN + random.randint(0, 600)
    names = f"gpu{first:05d}" if size == 1 else f"gpu[{first:05d}-{first + size - 1:05d}]"
    for _ in range(per_block):
        if len(rows) >= args.rows:
            break
        at += random.choice([0, 1, 5, 30, 300])
        length = random.randint(30, 7200)
        wait = random.choice([0, 1, 2, 60, 900])
        gpus = 8 * size if size > 1 else random.choice([1, 2, 4, 8])
        rows.append((at - wait, at, at + length, size, gpus, names))
        held += gpus * length
        at += length
    last = max(last, at)
rows.sort()
with open(os.path.join(args.out, "sacct.txt"), "w") as out:
    out.write("\x1f".join(COLUMNS) + "\n")
    for number, (submit, start, end, nodes, gpus, names) in enumerate(rows, 1):
        user = random.randint(0, 400)
        tres = f"billing={gpus * 8},cpu={gpus * 8},gres/gpu:h100={gpus},gres/gpu={gpus},node={nodes}"
        out.write("\x1f".join([
            str(number), str(number), f"user{user}", f"account{user % 40}", "train", "normal", "", random.choice(STATES), "0:0",
            stamp(submit), stamp(submit), stamp(start), stamp(end), "00:00:00", str(end - start), "1-00:00:00", str(nodes),
            f"billing={gpus},cpu={gpus},gres/gpu={gpus},node={nodes}", tres, names, "SchedBackfill,StartReceived", "None",
            f"train-{user}-{number % 12}"]) + "\n")
with open(os.path.join(args.out, "events.txt"), "w") as out:
    out.write("Cluster|Cluster Nodes|CPU Cnt|Duration|TimeEnd|Event|EventRaw|NodeName|Reason|TimeStart|State|StateRaw|TRES|User\n")
    out.write(f"big|gpu[00001-{args.nodes:05d}]|{args.nodes * 64}|1-00:00:00|Unknown|Cluster|1||Cluster Registered TRES|{stamp(BEGIN - 3600)}"
              f"||0|cpu={args.nodes * 64},gres/gpu:h100={args.nodes * 8},gres/gpu={args.nodes * 8},node={args.nodes}|\n")
json.dump({"rows": len(rows), "held_gpu_s": held, "from": BEGIN - 900, "to": last, "gpus": args.nodes * 8},
          open(os.path.join(args.out, "truth.json"), "w"))
