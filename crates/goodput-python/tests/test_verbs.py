"""The verbs as functions: the command's own answers, as data, tables and pages."""

import json
from datetime import datetime, timezone

import pytest

import fleet_goodput
from fleet_goodput import GoodputError, TimelineRecorder, account, timeline



@pytest.fixture
def recorded_log(tmp_path):
    """Two attempts with everything that the recorder can say."""
    path = tmp_path / "run.jsonl"
    header = dict(job="4711", devices=4, device="NVIDIA H100 80GB HBM3", dtype="bf16", commits=True, planned_steps=9)
    with pytest.raises(RuntimeError):
        with TimelineRecorder(path, **header) as recorder:
            with recorder.launch("model_build"):
                pass
            for step, _ in recorder.steps(range(9), model_flops=10**6):
                if step == 4:
                    with recorder.checkpoint(3):
                        pass
                if step == 6:
                    raise RuntimeError("a fault")
    with TimelineRecorder(path, **header) as recorder:
        with recorder.restore(3):
            pass
        for step, _ in recorder.steps(range(5), first_step=4, model_flops=10**6):
            pass
        with recorder.evaluation("validation"):
            pass
        recorder.record_rank(8, 0, 1000, host="n1", device=0)
        now = recorder.now_ns()
        recorder.record_logging(now, now + 1)
        with recorder.checkpoint(8):
            pass
        recorder.stop("finished")
    return path


def test_what_the_recorder_writes_is_read_without_a_finding(recorded_log):
    lines = [json.loads(line, parse_float=str) for line in recorded_log.read_text().splitlines()]
    report = timeline(recorded_log, allocation=[(lines[1]["at"], lines[-1]["at"])])
    assert [(f.refused, f.repaired, f.used) for f in report.files] == [(0, 0, report.files[0].rows)]
    assert report.raw["read_report"]["files"][0]["counts"] == {}
    assert report.warnings == [] and not report.falls_short
    assert (report.job, report.devices) == ("4711", 4)
    steps = report.steps
    assert (steps.executed, steps.retained, steps.discarded, steps.pending, steps.planned) == (11, 9, 2, 0, 9)
    assert report.mfu is not None and 0 < report.mfu < 1
    assert report.factors.mpg is None and 0 < report.factors.runtime < 1


def test_the_parts_sum_to_the_whole(recorded_log):
    report = timeline(recorded_log)
    assert report.held_ns - report.ideal_ns == sum(loss.amount_ns for loss in report.losses)
    assert {loss.boundary for loss in report.losses} == {"runtime", "program"}
    assert all(isinstance(loss.amount_ns, int) for loss in report.losses)


def test_tables_go_to_every_library_without_a_copy(recorded_log):
    pa, pl, pd = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    report = timeline(recorded_log)
    losses = report.to_arrow()
    exact = [loss.amount_ns for loss in report.losses]
    arrow = pa.table(losses)
    assert arrow.schema.field("amount_ns").type == pa.decimal128(38, 0)
    assert [int(n) for n in arrow["amount_ns"].to_pylist()] == exact
    assert [int(n) for n in pl.DataFrame(losses)["amount_ns"]] == exact
    assert len(pd.DataFrame.from_arrow(losses)) == len(losses) == len(exact)
    assert pa.schema(losses).names == losses.column_names
    for table in ("levers", "warnings", "files"):
        pa.table(report.to_arrow(table))
    with pytest.raises(GoodputError, match="expected one of losses"):
        report.to_arrow("lossses")


def test_pages(recorded_log, tmp_path):
    report = timeline(recorded_log, title="<b>run</b>")
    assert "<table>" in report._repr_html_() and "Productive" not in report._repr_html_()
    page = report.to_html(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text() == page and "<html" in page
    assert "goodput_" in report.to_openmetrics() and report.to_openmetrics().endswith("# EOF\n")
    assert "held" in str(report).lower()


def test_errors_name_file_line_and_remedy(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"goodput_timeline":2,"job":"1"}\n')
    with pytest.raises(GoodputError, match=r"log.jsonl:1") as refused:
        timeline(path)
    assert (refused.value.path, refused.value.line) == (str(path), 1)
    assert refused.value.remedy == "convert the file to version 1"
    with pytest.raises(GoodputError, match="No such file") as missing:
        timeline(tmp_path / "none.jsonl")
    assert missing.value.path.endswith("none.jsonl")


def test_errors_speak_of_arguments(recorded_log):
    with pytest.raises(GoodputError, match="time_zone= Nowhere: no such zone"):
        timeline(recorded_log, time_zone="Nowhere")
    with pytest.raises(GoodputError, match="to= must be after from_="):
        timeline(recorded_log, from_="2026-01-02", to="2026-01-01")
    with pytest.raises(GoodputError, match="aware datetime"):
        timeline(recorded_log, from_=datetime(2026, 1, 1))
    with pytest.raises(GoodputError, match="peak_tflops is -1"):
        timeline(recorded_log, peak_tflops=-1)
    with pytest.raises(GoodputError, match="a list of files"):
        account(sacct="sacct.txt")
    with pytest.raises(GoodputError, match="name one log"):
        timeline()
    with pytest.raises(GoodputError, match="expected in_service"):
        account(denominator="all")


def test_a_window_by_datetime(recorded_log):
    start = datetime(2020, 1, 1, tzinfo=timezone.utc)
    report = timeline(recorded_log, from_=start, to=datetime(2100, 1, 1, tzinfo=timezone.utc))
    assert report.raw["contract"]["window"]["from"].startswith("2020-01-01T00:00:00")


SACCT = """JobIDRaw|JobID|User|Account|Partition|State|Submit|Eligible|Start|End|NNodes|AllocTRES|NodeList
1|1|ann|ml|gpu|COMPLETED|1767225600|1767225600|1767225600|1767229200|1|gres/gpu=8,node=1|n1
2|2|bob|ml|gpu|FAILED|1767225600|1767225600|1767229200|1767232800|1|gres/gpu=8,node=1|n1
"""
NODES = "NodeName=n1 Partitions=gpu Gres=gpu:8 CfgTRES=cpu=64,gres/gpu=8 State=IDLE\n"


def test_a_fleet(tmp_path):
    (tmp_path / "sacct.txt").write_text(SACCT)
    (tmp_path / "nodes.txt").write_text(NODES)
    report = account(
        sacct=[tmp_path / "sacct.txt"],
        nodes=[tmp_path / "nodes.txt"],
        from_=1767225600,
        to=1767240000,
        time_zone="UTC",
        price=2.0,
    )
    device_hour = 3600 * 10**9
    assert report.offered_ns == 8 * 4 * device_hour
    assert report.held_ns == 8 * 2 * device_hour
    assert report.factors.scheduling == 0.5
    assert report.offered_ns - report.ideal_ns == sum(loss.amount_ns for loss in report.losses)
    assert [pool.held_ns for pool in report.pools] == [report.held_ns]
    assert {job.id for job in report.jobs} == {"1", "2"}
    pa = pytest.importorskip("pyarrow")
    assert pa.table(report.to_arrow("jobs")).num_rows == 2
    assert pa.table(report.to_arrow("pools"))["scheduling"].to_pylist() == [0.5]


def test_the_dataclasses_say_what_the_command_says(recorded_log):
    report = timeline(recorded_log)
    assert report.raw == json.loads(report._report.json())
    assert report.raw["schema"] == "goodput.timeline/1"


def test_names_are_there():
    assert {"account", "timeline", "ThroughputMeter", "TimelineRecorder"} <= set(dir(fleet_goodput))
    with pytest.raises(AttributeError):
        fleet_goodput.nothing


def _step_trace(rank: int, late_us: float) -> str:
    """One step of 100 us: a product of 40 us, then an all-reduce that every rank leaves at 90 us."""
    start = 50.0 + late_us
    events = [
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0.0, "dur": 100.0},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1.0, "dur": 1.0,
         "args": {"correlation": 1}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 3.0, "dur": 1.0,
         "args": {"correlation": 2}},
        {"ph": "X", "cat": "kernel", "name": "ampere_gemm_128x128", "pid": 0, "tid": 7, "ts": 10.0, "dur": 40.0 + late_us,
         "args": {"device": 0, "stream": 7, "correlation": 1}},
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0, "tid": 9,
         "ts": start, "dur": 90.0 - start, "args": {"device": 0, "stream": 9, "correlation": 2}},
    ]
    return json.dumps({"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events})


def test_trace_charges_every_nanosecond_once_and_names_the_late_rank(tmp_path):
    for rank, late_us in enumerate((0.0, 20.0)):
        (tmp_path / f"rank{rank}.json").write_text(_step_trace(rank, late_us))
    report = fleet_goodput.trace(tmp_path)
    assert sum(report.charges.values()) == report.window_ns == 2 * 80_000
    assert report.charges["peer_wait_ns"] == 20_000
    assert report.charges["transfer_ns"] == 2 * 20_000
    assert [rank.compute_ns for rank in report.ranks] == [40_000, 60_000]
    assert report.raw["peers"]["blame"][0]["rank"] == 1
    assert "charged once" in str(report)


def test_trace_without_a_file_says_what_to_do():
    with pytest.raises(GoodputError, match="name one trace"):
        fleet_goodput.trace()
