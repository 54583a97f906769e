#!/usr/bin/env bash
# The Python package: size of the wheel, time of the import, and cost of one meter update and one recorded step.
# Needs python3 and maturin; builds the wheel in release mode into an environment of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.16,<2'
(cd crates/goodput-python && "$work/env/bin/maturin" build --quiet --release -o "$work/wheel")
"$work/env/bin/pip" install --quiet --disable-pip-version-check "$work"/wheel/*.whl
ls -l "$work"/wheel/*.whl | awk '{ printf "wheel                 %.1f MB\n", $5 / 1e6 }'
cd "$work"
"$work/env/bin/python" "$OLDPWD/bench/python.py"
