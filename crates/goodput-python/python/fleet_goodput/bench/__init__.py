"""Measures kernels, exchanges and the host with PyTorch, as the table that ``goodput calibrate`` imports.

    python -m fleet_goodput.bench -o bench.csv --model config.json --tp 8 --budget 30
    torchrun --nproc-per-node 8 -m fleet_goodput.bench -o bench.csv --only collectives
    goodput calibrate bench.csv -o ours.tables

What is measured is planned first (:mod:`.plan`), without PyTorch; what a table already holds is not measured again.
"""
