#!/usr/bin/env bash
# Appends one snapshot of nodes and queue to a file every few seconds, as `goodput` reads it
# (docs/readers.md, "Snapshots"). Needs scontrol, squeue and awk; runs until it is stopped.
#   usage: snapshot.sh FILE [SECONDS | once]       e.g. snapshot.sh snapshots.jsonl 30
set -euo pipefail
file=${1:?usage: snapshot.sh FILE [SECONDS | once]}
every=${2:-30}

nodes='
function tres_devices(tres) {  # gres/gpu=8: the total, never added to the typed counts
    return match("," tres, /,gres\/gpu=[0-9]+/) ? substr("," tres, RSTART + 10, RLENGTH - 10) : 0
}
function gres_devices(gres,    part, sum) {  # gpu:h100:4(IDX:0-3), where the TRES name no device
    gsub(/\([^)]*\)/, "", gres); sum = 0
    while (match(gres, /gpu(:[^:,]*)?:[0-9]+/)) {
        part = substr(gres, RSTART, RLENGTH); sub(/.*:/, "", part); sum += part; gres = substr(gres, RSTART + RLENGTH)
    }
    return sum
}
{
    split("", field)
    for (i = 1; i <= NF; i++) { at = index($i, "="); key = substr($i, 1, at - 1); if (at && !(key in field)) field[key] = substr($i, at + 1) }
    if (field["NodeName"] == "") next
    if (field["CfgTRES"] ~ /gres\/gpu=/) { total = tres_devices(field["CfgTRES"]); busy = tres_devices(field["AllocTRES"]) }
    else { total = gres_devices(field["Gres"]); busy = gres_devices(field["GresUsed"]) }
    printf "%s\"%s\": [\"%s\", %d, %d, \"%s\"]", sep, field["NodeName"], field["State"], total, busy, field["Partitions"]
    sep = ", "
}'
queue='
NF {
    gsub(/\\/, "\\\\"); gsub(/"/, "\\\"")
    printf "%s[", sep; for (i = 1; i <= 8; i++) printf "%s\"%s\"", (i > 1 ? ", " : ""), $i; printf "]"
    sep = ", "
}'

while :; do
    t0=$(date +%s.%N)
    shown=$(scontrol -o show node -d) && queued=$(squeue -h -a -r -o '%i|%T|%r|%D|%b|%P|%N|%q') || { sleep "$every"; continue; }
    t1=$(date +%s.%N)
    printf '{"t0": %s, "t1": %s, "nodes": {%s}, "q": [%s]}\n' "$t0" "$t1" \
        "$(awk "$nodes" <<<"$shown")" "$(awk -F'|' "$queue" <<<"$queued")" >>"$file"
    [ "$every" = once ] && break
    sleep "$every"
done
