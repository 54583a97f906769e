#!/usr/bin/env bash
# A check over a year of daily reports of 500 jobs in 5 pools, as a whole process: `bench/baseline.sh [FOLDER]`.
# Builds the release binary, writes the history once (about 220 MB), and times five checks.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-$(mktemp -d)}
history="$folder/history.jsonl"
cargo build --release -p goodput-cli
binary="${CARGO_TARGET_DIR:-target}/release/goodput"
[ -f "$history" ] || python3 bench/gen_baseline.py 500 365 "$history"
ls -l "$history" | awk '{print $5 / 1e6 " MB"}'
for _ in 1 2 3 4 5; do
    # Exit status 1: the planted regressions.
    /usr/bin/time -f '%e s, %M KiB' "$binary" baseline check "$history" -o /dev/null || [ $? = 1 ]
done
