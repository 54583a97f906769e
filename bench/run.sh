#!/usr/bin/env bash
# Whole-process speed on this machine, one thread: the figures of the README.
#   bench/run.sh [ROWS] [STEPS]        (default 1000000 each, and ten times less beside it to show linear growth)
# Needs python3 for the inputs and GNU time. Inputs stay in $BENCH_DIR (default: a folder in the system's temporary one).
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1000000} steps=${2:-1000000}
dir=${BENCH_DIR:-${TMPDIR:-/tmp}/goodput-bench}
mkdir -p "$dir"
cargo build --release --quiet
bin=${CARGO_TARGET_DIR:-target}/release/goodput

measure() { # what, command...
  local what=$1; shift
  for _ in 1 2 3; do
    /usr/bin/time -f "%U %S %e %M" -o "$dir/time" "$@" >/dev/null
    cat "$dir/time"
  done | sort -n | sed -n 2p | awk -v what="$what" '{printf "%-58s %6.2f s CPU %6.2f s wall %5.0f MB\n", what, $1 + $2, $3, $4 / 1024}'
}

for n in $((rows / 10)) "$rows"; do
  data=$dir/sacct-$n
  [ -f "$data/truth.json" ] || python3 bench/gen_sacct.py "$data" --rows "$n"
  read -r from to < <(python3 -c "import json; t = json.load(open('$data/truth.json')); print(t['from'], t['to'])")
  measure "account: $n sacct rows" "$bin" account --sacct "$data/sacct.txt" --events "$data/events.txt" --time-zone UTC --from "$from" --to "$to" --format json
done
for n in $((steps / 10)) "$steps"; do
  data=$dir/steps-$n.jsonl
  [ -f "$data" ] || python3 bench/gen_timeline.py "$data" --steps "$n"
  measure "timeline: $n steps, 10 faults, an event every 100 steps" "$bin" timeline "$data" --format json
done
# Inside the process: building a batch from its lengths and counting it.
cargo run --release --quiet -p goodput-model --example flops_speed deepseek-v3 10000
