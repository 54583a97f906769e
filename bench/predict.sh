#!/usr/bin/env bash
# Speed of prediction and search: one prediction in a warm process, one cold call of the command, and the full space of GPT-3 175B on 64
# A100s. Prints medians of three, compares them with the bars (50 us, 30 s, 500 MB) and exits with 1 when one is missed.
#   bench/predict.sh
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet --bin goodput
cargo build --release --quiet -p goodput-predict --example predict_speed --example search_speed
target=$(realpath "${CARGO_TARGET_DIR:-target}")/release
failed=0

median() { sort -n | sed -n 2p; }
bar() { # what, figure, unit, at most
  local verdict=ok
  awk -v f="$2" -v m="$4" 'BEGIN { exit !(f <= m) }' || { verdict="MISSED"; failed=1; }
  printf '%-52s %10s %-3s (at most %s: %s)\n' "$1" "$2" "$3" "$4" "$verdict"
}

us=$(for _ in 1 2 3; do "$target/examples/predict_speed" | sed -n 's/^each after it: \([0-9.]*\) us$/\1/p'; done | median)
bar "one prediction, tables loaded, no answer kept" "$us" us 50

cold=$(for _ in 1 2 3; do
  /usr/bin/time -f %e -o /tmp/goodput-predict-time "$target/goodput" predict examples/run.yaml >/dev/null; tail -1 /tmp/goodput-predict-time
done | median)
printf '%-52s %10s s\n' "one cold call of \`goodput predict\`" "$cold"
page=$(for _ in 1 2 3; do
  /usr/bin/time -f %e -o /tmp/goodput-predict-time "$target/goodput" predict examples/run.yaml --format html >/dev/null; tail -1 /tmp/goodput-predict-time
done | median)
printf '%-52s %10s s\n' "the same with its page" "$page"

runs=$(for _ in 1 2 3; do
  /usr/bin/time -f "%M" -o /tmp/goodput-predict-time "$target/examples/search_speed" predicted |
    sed -n 's/^predicted: \([0-9]*\) layouts.* \([0-9.]*\) s, .*/\2 \1/p' | tr '\n' ' '
  tail -1 /tmp/goodput-predict-time
done | median)
read -r seconds layouts kilobytes <<<"$runs"
bar "search of $layouts layouts, $(nproc) threads" "$seconds" s 30
bar "its memory" "$((kilobytes / 1024))" MB 500

exit $failed
