#!/usr/bin/env bash
# Whole-process speed of `goodput trace` on a large Kineto trace, one thread and all: the figures of the README.
#   bench/trace.sh BASE.json.gz GENERATOR.py [MB]
# BASE is a Kineto trace with a step #5 and GENERATOR repeats it to MB megabytes (default 500): see the comment of each
# in the data that they come from. HTA_PYTHON and TRACELENS_PYTHON name Python interpreters that have those tools, to
# time them on the same file in the same run. Inputs stay in $BENCH_DIR.
set -euo pipefail
base=$(realpath "$1") generator=$(realpath "$2") mb=${3:-500}
cd "$(dirname "$0")/.."
dir=${BENCH_DIR:-${TMPDIR:-/tmp}/goodput-bench}
mkdir -p "$dir/ranks"
cargo build --release --quiet
bin=$(realpath "${CARGO_TARGET_DIR:-target}")/release/goodput

generate() { # file, megabytes, more options
  [ -s "$1" ] || python3 "$generator" "$base" "$1" --mb "$2" --step 5 "${@:3}" >/dev/null
}
big=$dir/trace-$mb.json
generate "$big" "$mb"
[ -s "$big.gz" ] || gzip -1 -k "$big"
for rank in 0 1 2 3 4 5 6 7; do
  generate "$dir/ranks/rank$rank.json" $((mb / 8)) --rank "$rank" --skew-us $((rank * 10))
done

measure() { # what, bytes of JSON text, command...
  local what=$1 bytes=$2; shift 2
  for _ in 1 2 3; do
    /usr/bin/time -f "%U %S %e %M" -o "$dir/time" "$@" >/dev/null 2>&1
    tail -1 "$dir/time"
  done | sort -n | sed -n 2p | awk -v what="$what" -v bytes="$bytes" \
    '{c = $1 + $2; printf "%-34s %7.2f s CPU %7.2f s wall %6.0f MB peak (%.2f of the text) %6.0f MB/CPU-s\n", what, c, $3, $4 / 1024, $4 * 1024 / bytes, bytes / 1e6 / c}'
}
text=$(stat -Lc %s "$big") ranks=$(cat "$dir"/ranks/*.json | wc -c)
export RAYON_NUM_THREADS=1
measure "goodput, plain, one thread" "$text" "$bin" trace "$big" --format json
measure "goodput, gzip, one thread" "$text" "$bin" trace "$big.gz" --format json
measure "goodput, 8 ranks, one thread" "$ranks" "$bin" trace "$dir/ranks" --format json
unset RAYON_NUM_THREADS
measure "goodput, 8 ranks, all threads" "$ranks" "$bin" trace "$dir/ranks" --format json
if [ -n "${HTA_PYTHON:-}" ]; then
  measure "HTA, plain" "$text" "$HTA_PYTHON" bench/trace_hta.py "$big"
fi
if [ -n "${TRACELENS_PYTHON:-}" ]; then
  measure "TraceLens, plain (breakdown only)" "$text" "$TRACELENS_PYTHON" bench/trace_tracelens.py "$big"
fi
