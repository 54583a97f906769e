"""Prints the time of `import fleet_goodput`, of one meter update, and of one recorded step. Called by python.sh."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IMPORT = "import time; t = time.perf_counter(); import fleet_goodput; print(time.perf_counter() - t)"


def best(call, times=20_000, rounds=7):
    """Seconds a call: the fastest of several rounds."""
    def round_of():
        start = time.perf_counter()
        for _ in range(times):
            call()
        return (time.perf_counter() - start) / times

    return min(round_of() for _ in range(rounds))


imports = [float(subprocess.check_output([sys.executable, "-c", IMPORT])) for _ in range(11)]
print(f"import fleet_goodput  {statistics.median(imports) * 1e3:.1f} ms (median of {len(imports)} processes)")

from fleet_goodput import ThroughputMeter, TimelineRecorder  # noqa: E402

meter = ThroughputMeter(1024, tensor_parallel=8, peak_flops={"bf16": 989.4e12})


class Ready:
    """Sums that are there: what is left is the meter's own work."""

    def __init__(self, step):
        self.step = step

    def is_ready(self):
        return True

    def result(self):
        return self.step.sums, 0


def count_and_end():
    meter.micro_batch(tokens=4000, executed_tokens=4096, flops=8 * 10**15, executed_flops=9 * 10**15)
    return meter.end_step(peak_memory_bytes=0)


def update():
    step = count_and_end()
    meter.log(step, Ready(step))


print(f"micro-batch and step  {best(count_and_end) * 1e6:.2f} us")
print(f"one meter update      {best(update) * 1e6:.2f} us (counts, end of step, sums handed in, the step before logged)")
with tempfile.TemporaryDirectory() as folder, TimelineRecorder(Path(folder) / "run.jsonl") as recorder:
    def step():
        with recorder.step(0):
            pass

    print(f"one recorded step     {best(step, 5000) * 1e6:.2f} us (one line written)")
