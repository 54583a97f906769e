#!/usr/bin/env python3
"""Rebuilds the collective tables of `goodput-predict` from the PyPI package aiconfigurator-core.

    pip install pyarrow
    python3 scripts/collective_tables.py                 downloads the package, rebuilds crates/goodput-predict/data/collective/*.csv
    python3 scripts/collective_tables.py --wheel FILE    the same from a wheel at hand

The rows are NVIDIA's, under Apache-2.0 (data/collective/NOTICE says what is changed). Selection and rounding follow
from the code alone, so that two builds are the same byte for byte.
"""

import argparse
import collections
import hashlib
import io
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import zipfile

import pyarrow.parquet as pq

PACKAGE = "aiconfigurator-core"
VERSION = "0.12.0"
SHA256 = "aadc4aad0a00bf8a61c477c62bef43de479849c3aa0b1c3078068e08309eccc4"
ROOT = "aiconfigurator_core/systems/data"
DATA = pathlib.Path(__file__).resolve().parent.parent / "crates/goodput-predict/data/collective"
# The package's system and the device's name in our catalogue.
DEVICES = {
    "a100_sxm": "A100 SXM4 80GB",
    "h100_sxm": "H100 SXM5",
    "h200_sxm": "H200 SXM",
    "b200_sxm": "B200",
    "b300_sxm": "B300",
    "gb200": "GB200",
    "gb300": "GB300",
    "l40s": "L40S",
}
BYTES = [512 << step for step in range(21)]
# The one shape whose times are kept for every number of SMs; of the others only 20 SMs, DeepEP's usual number.
FULL_SHAPE = (7168, 8, 256)
USUAL_SMS = 20
# SGLang's DeepEP rows: the older folder alone has several nodes.
EXCHANGES = ["sglang/0.5.12", "sglang/0.5.6.post2"]


def rows(wheel, path):
    return pq.read_table(io.BytesIO(wheel.read(path))).to_pylist()


def digits(microseconds):
    """Four significant digits."""
    return f"{float(f'{microseconds:.4g}'):g}"


def nccl(wheel):
    """Median time by device, operation, dtype, devices and bytes over every folder of NCCL 2.26 and later.

    Folders repeat each other's measurements with other hiccups, so the median over them is steadier than any one.
    """
    yield ["device", "lib", "op", "dtype", "gpus"] + [str(size) for size in BYTES]
    for system, device in DEVICES.items():
        times = collections.defaultdict(list)
        versions = set()
        folder = re.compile(rf"{ROOT}/{system}/comm/[^/]+/([^/]+)/nccl_perf\.parquet")
        for path in sorted(wheel.namelist()):
            match = folder.fullmatch(path)
            if not match:
                continue
            for row in rows(wheel, path):
                version = str(row.get("version") or match[1])
                if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < (2, 26):
                    continue
                width = {"half": 2, "int8": 1}[row["nccl_dtype"]]
                key = (row["op_name"], row["nccl_dtype"], row["num_gpus"])
                times[key, row["message_size"] * width].append(row["latency"] * 1e3)
                versions.add(version)
        lib = "NCCL " + "/".join(sorted(versions))
        for op, dtype, gpus in sorted({key for key, _ in times}):
            medians = [statistics.median(times[(op, dtype, gpus), size]) for size in BYTES]
            yield [device, lib, op, dtype, str(gpus)] + [digits(time) for time in medians]


def expert_exchange(wheel):
    """DeepEP's normal kernels: dispatch and combine, transmission and notification together."""
    tokens = None
    body = []
    for system, device in DEVICES.items():
        for lib in EXCHANGES:
            path = f"{ROOT}/{system}/comm/{lib}/wideep_deepep_normal_perf.parquet"
            if path not in wheel.namelist():
                continue
            times = collections.defaultdict(list)
            for row in rows(wheel, path):
                shape = (row["hidden_size"], row["num_topk"], row["num_experts"])
                if row["node_num"] == 1 and lib != EXCHANGES[0]:
                    continue
                for phase in ["dispatch", "combine"]:
                    sms = row[f"{phase}_sms"]
                    if shape != FULL_SHAPE and sms != USUAL_SMS:
                        continue
                    time = row[f"{phase}_transmit_us"] + row[f"{phase}_notify_us"]
                    times[(phase, row["node_num"], *shape, sms), row["num_token"]].append(time)
            for key in sorted({key for key, _ in times}):
                sizes = sorted(size for other, size in times if other == key)
                tokens = tokens or sizes
                assert sizes == tokens, (device, key)
                devices = key[1] * (4 if system.startswith("gb") else 8)
                phase, nodes, *shape = key
                medians = [digits(statistics.median(times[key, size])) for size in tokens]
                body.append([device, lib, phase, str(nodes), str(devices)] + [str(part) for part in shape] + medians)
    yield ["device", "lib", "phase", "nodes", "devices", "hidden", "topk", "experts", "sms"] + [str(size) for size in tokens]
    yield from body


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=pathlib.Path, help="the package's wheel, else it is downloaded")
    path = parser.parse_args().wheel
    if path is None:
        folder = pathlib.Path(tempfile.mkdtemp())
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", str(folder)]
        subprocess.run(command + [f"{PACKAGE}=={VERSION}"], check=True)
        path = next(folder.glob("*.whl"))
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        sys.exit(f"{path}: not the wheel of {PACKAGE} {VERSION} that these tables are derived from")
    with zipfile.ZipFile(path) as wheel:
        for name, make in [("nccl.csv", nccl), ("expert_exchange.csv", expert_exchange)]:
            lines = [",".join(row) for row in make(wheel)]
            (DATA / name).write_text("\n".join(lines) + "\n")
            print(f"{DATA / name}: {len(lines) - 1} rows")


if __name__ == "__main__":
    main()
