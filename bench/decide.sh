#!/usr/bin/env bash
# Whole-process speed of the decision verbs: a baseline check over a year of daily reports of 500 jobs, a frontier of 10,000 configurations, a
# day of a large serving fleet. Prints medians of five, compares them with the bars (1 s, 2 s) and exits with 1 when one is missed.
#   bench/decide.sh [FOLDER]        (inputs of some 400 MB stay there; default: a folder in the system's temporary one)
# Needs python3 for the history and GNU time.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=${1:-${TMPDIR:-/tmp}/goodput-bench}
mkdir -p "$dir"
cargo build --release --quiet --bin goodput
cargo build --release --quiet -p goodput-decide --example frontier_speed
target=$(realpath "${CARGO_TARGET_DIR:-target}")/release
failed=0

measure() { # command...: seconds and KiB, the median by seconds
  for _ in 1 2 3 4 5; do
    # Exit status 1: the planted regressions.
    /usr/bin/time -f "%e %M" -o "$dir/time" "$@" >/dev/null || [ $? = 1 ]
    tail -1 "$dir/time"
  done | sort -n | sed -n 3p
}
show() { # what, seconds, KiB, at most so many seconds
  local verdict=
  if [ -n "${4:-}" ]; then
    verdict="(at most $4: ok)"
    awk -v f="$2" -v m="$4" 'BEGIN { exit !(f <= m) }' || { verdict="(at most $4: MISSED)"; failed=1; }
  fi
  printf '%-60s %6s s %5d MB %s\n' "$1" "$2" "$(($3 / 1024))" "$verdict"
}

history=$dir/history.jsonl
[ -f "$history" ] || python3 bench/gen_baseline.py 500 365 "$history"
read -r seconds kib < <(measure "$target/goodput" baseline check "$history" -o /dev/null)
show "baseline check: $(wc -l <"$history") rows" "$seconds" "$kib" 1

read -r seconds kib < <(measure "$target/examples/frontier_speed")
show "frontier: 10,000 configurations, 200 draws each" "$seconds" "$kib" 2

serving=$dir/serving.jsonl
echo '{days: 1, replicas: 5000, sample_s: 800}' >"$dir/serving.yaml"
[ -f "$serving" ] || "$target/goodput" simulate --serving "$dir/serving.yaml" -o "$dir" >/dev/null
read -r seconds kib < <(measure "$target/goodput" serving "$serving" -o /dev/null)
show "serving: $(wc -l <"$serving") lines" "$seconds" "$kib"

exit $failed
