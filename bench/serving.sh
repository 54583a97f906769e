#!/usr/bin/env bash
# A day of 5,000 inference replicas, more than a million lines, as a whole process: `bench/serving.sh [FOLDER]`.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-$(mktemp -d)}
cargo build --release -p goodput-cli
binary="${CARGO_TARGET_DIR:-target}/release/goodput"
echo '{days: 1, replicas: 5000, sample_s: 800}' > "$folder/serving.yaml"
[ -f "$folder/serving.jsonl" ] || "$binary" simulate --serving "$folder/serving.yaml" -o "$folder"
wc -lc "$folder/serving.jsonl"
for _ in 1 2 3 4 5; do
    /usr/bin/time -f '%e s, %M KiB' "$binary" serving "$folder/serving.jsonl" -o /dev/null
done
