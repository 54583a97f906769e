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


RUN = """model: megatron-22b
cluster: DGX A100
devices: 8
layout: {tp: 8, sp: true}
batch: {sequence: 2048, micro: 4, global: 4}
precision: fp16
recompute: selective
framework: megatron-lm-2022
"""


def test_predict_terms_sum_to_the_step(tmp_path):
    run = tmp_path / "run.yaml"
    run.write_text(RUN)
    trace = tmp_path / "step.json"
    step = fleet_goodput.predict(run, trace=trace, title="<b>step</b>")
    assert sum(term.time_ns for term in step.terms) == pytest.approx(step.step_ns)
    # Korthikanti et al. 2022, table 4: 1.1 s.
    assert step.step_ns == pytest.approx(1.10e9, rel=0.1)
    assert 0 < step.mfu <= step.hfu < 1 and step.memory.fits and not step.falls_short
    assert json.loads(trace.read_text())["traceEvents"]
    assert step.raw["schema"] == "goodput.predict/1"
    assert "<svg" in step.to_html(tmp_path / "step.html") and "<b>step" not in step.to_html()
    assert "<table>" in step._repr_html_() and "matrix products" in str(step)
    pa = pytest.importorskip("pyarrow")
    assert pa.table(step.to_arrow())["time_ns"].to_pylist() == [term.time_ns for term in step.terms]
    for table in ("stages", "efficiency", "closed_forms"):
        assert pa.table(step.to_arrow(table)).num_rows > 0


def test_search_ranks_and_writes_the_best(tmp_path):
    run, best = tmp_path / "run.yaml", tmp_path / "best.yaml"
    run.write_text(RUN)
    found = fleet_goodput.search(
        run, devices="4..8", constraint=["micro<=2"], pareto=True, price=2.0, tokens=1e9,
        queue_wait={8: "1h"}, runtime_goodput=0.9, write=best,
    )
    assert found.raw["ranked_by"] == "time_to_result"
    results = [layout.result_ns for layout in found.best]
    assert results == sorted(results) and all(layout.result_cost > 0 for layout in found.best)
    assert fleet_goodput.predict(best).step_ns == found.best[0].step_ns
    assert "<circle" in found.to_html() and "<table>" in found._repr_html_()
    pa = pytest.importorskip("pyarrow")
    assert pa.table(found.to_arrow()).num_rows == len(found.best)
    assert pa.table(found.to_arrow("pareto")).num_rows == len(found.pareto) > 0
    with pytest.raises(GoodputError, match="width<=8"):
        fleet_goodput.search(run, constraint=["width<=8"])
    run.write_text(RUN.replace("tp: 8", "tp: 7"))
    with pytest.raises(GoodputError, match="run.yaml") as refused:
        fleet_goodput.predict(run)
    assert "layout" in str(refused.value)
    with pytest.raises(GoodputError, match="stragglers is nan"):
        fleet_goodput.predict(best, stragglers=float("nan"))


RUNS = """id,source_key,n_layers,hidden,n_heads,n_kv_heads,head_dim,ffn_hidden,ffn_type,vocab,tied_embeddings,seq_len,device_class,\
n_devices,tp,sp,cp,pp,dp,zero_or_sharding,mbs,gbs,precision_class,recompute,step_time_s
run-1,ours,32,4096,32,8,128,14336,swiglu,128256,no,8192,h100,8,1,no,1,1,8,zero-1,1,64,bf16,none,12.5
"""


def test_validate_compares_with_measured_runs(tmp_path):
    runs = tmp_path / "runs.csv"
    runs.write_text(RUNS)
    errors = fleet_goodput.validate(runs)
    row = errors.raw["rows"][0]
    assert errors.runs == 1 and not errors.falls_short
    assert errors.mape == pytest.approx(abs(row["predicted_ns"] / row["measured_ns"] - 1))
    assert "run-1" in errors._repr_html_()
    pa = pytest.importorskip("pyarrow")
    assert pa.table(errors.to_arrow()).num_rows == 1
    kept = tmp_path / "errors.json"
    fleet_goodput.validate(runs, regression=kept, record=True)
    assert fleet_goodput.validate(runs, regression=kept).worse == []
    runs.write_text(RUNS.replace("12.5", "3.0"))
    assert {row["measure"] for row in fleet_goodput.validate(runs, regression=kept).worse} >= {"mape"}
    with pytest.raises(GoodputError, match="3 rows"):
        fleet_goodput.validate(runs, calibrate=tmp_path / "factors.yaml")
    with pytest.raises(GoodputError, match="one of the two"):
        fleet_goodput.validate(runs, calibrate="a.yaml", calibration="b.yaml")


def test_explain_lines_up_the_same_terms_and_tells_another_job(tmp_path):
    run, traces = tmp_path / "run.yaml", tmp_path / "traces"
    run.write_text(RUN)
    traces.mkdir()
    for rank in range(2):
        (traces / f"rank{rank}.json").write_text(_step_trace(rank, 0.0))
    report = fleet_goodput.explain(run, traces)
    assert sum(term.predicted_ns for term in report.terms) == pytest.approx(report.predicted_ns)
    assert sum(term.measured_ns for term in report.terms) == pytest.approx(report.measured_ns) == 80_000
    assert report.gap_ns == pytest.approx(report.measured_ns - report.predicted_ns)
    assert not report.same_job and report.falls_short
    assert "<table>" in report._repr_html_() and "<html" in report.to_html(tmp_path / "gap.html")
    pa = pytest.importorskip("pyarrow")
    assert pa.table(report.to_arrow())["measured_ns"].to_pylist() == [term.measured_ns for term in report.terms]
    assert "other_job" in pa.table(report.to_arrow("checks"))["verdict"].to_pylist()
    assert pa.table(report.to_arrow("ranks"))["total_ns"].to_pylist() == [80_000, 80_000]
    with pytest.raises(GoodputError, match="expected one of terms, exchanges, checks, findings, ranks"):
        report.to_arrow("stages")


BENCH = """kind,device,dtype,pass,m,n,k,state,latency
gemm,NVIDIA A100-SXM4-80GB,fp16,forward,2048,4608,12288,burst,2.3
gemm,NVIDIA A100-SXM4-80GB,fp16,forward,2048,12288,1536,burst,0.8
gemm,NVIDIA A100-SXM4-80GB,fp16,forward,2048,12288,6144,burst,0.000001
"""


def test_calibrate_checks_every_row_and_predict_takes_the_file(tmp_path):
    table, ours, run = tmp_path / "bench.csv", tmp_path / "ours.tables", tmp_path / "run.yaml"
    table.write_text(BENCH)
    run.write_text(RUN)
    report = fleet_goodput.calibrate(table, output=ours, column={"time_ms": "latency"})
    assert report.written == {report.kinds[0].device: str(ours)}
    assert [(kind.kind, kind.rows) for kind in report.kinds] == [("gemm", 2)]
    # The third is faster than the device can be.
    assert (report.files[0].used, report.files[0].refused, report.falls_short) == (2, 1, True)
    assert fleet_goodput.predict(run, tables=[ours]).raw["measured_here"]
    assert "gemm" in report._repr_html_()
    pa = pytest.importorskip("pyarrow")
    assert pa.table(report.to_arrow())["device"].to_pylist() == [report.kinds[0].device]
    assert pa.table(report.to_arrow("files"))["refused"].to_pylist() == [1]
    with pytest.raises(GoodputError, match="no column `time_us`") as refused:
        fleet_goodput.calibrate(table)
    assert "column= ours=theirs" in str(refused.value)
    table.write_text("\n".join([*BENCH.splitlines()[:1], *BENCH.splitlines()[3:]]))
    with pytest.raises(GoodputError, match="no row can be used"):
        fleet_goodput.calibrate(table, column={"time_ms": "latency"})


def test_validate_collect_names_what_a_run_does_not_say(tmp_path):
    run = tmp_path / "mlruns" / "1" / "a"
    for folder in ("params", "metrics"):
        (run / folder).mkdir(parents=True)
    (run.parent / "meta.yaml").write_text("experiment_id: '1'\nlifecycle_stage: active\nname: pretrain\n")
    (run / "meta.yaml").write_text("lifecycle_stage: active\nrun_id: a\nrun_name: a\nstatus: 3\n")
    for name, value in {"world_size": 64, "tensor_model_parallel_size": 4, "bf16": True}.items():
        (run / "params" / name).write_text(str(value))
    steps = "".join(f"{1_760_000_000_000 + 12_000 * step} 12.0 {step}\n" for step in range(12))
    (run / "metrics" / "step_time_s").write_text(steps)
    report = fleet_goodput.validate_collect(tmp_path / "mlruns", output=tmp_path / "runs.csv", cluster="DGX H100")
    assert (report.complete, report.partial, report.falls_short) == (0, 1, True)
    assert (report.rows[0].measure, report.rows[0].value, report.rows[0].steps) == ("step_time_s", 12.0, 12)
    assert {"n_layers", "pp"} <= set(report.rows[0].missing)
    assert (tmp_path / "runs.csv").read_text().startswith("id,")
    assert "n_layers" in report._repr_html_()
    pa = pytest.importorskip("pyarrow")
    assert pa.table(report.to_arrow("missing"))["column"].to_pylist() == list(report.rows[0].missing)
    assert pa.table(report.to_arrow()).num_rows == 1
    with pytest.raises(GoodputError, match="no row can be written"):
        fleet_goodput.validate_collect(tmp_path / "nothing", output=tmp_path / "runs.csv")
    with pytest.raises(GoodputError, match="no source is named") as refused:
        fleet_goodput.validate_collect(output=tmp_path / "runs.csv")
    assert "MLflow" in refused.value.remedy


def _steady_log(path, start, step_s):
    """400 steps, all committed."""
    head = {"goodput_timeline": 1, "job": path.stem, "devices": 8, "peak_tflops": 989.4, "model_flops_per_token": 5e10}
    lines = [head, {"event": "launch", "at": start}]
    for step in range(400):
        lines.append({"step": step, "start": start + step * step_s, "end": start + (step + 1) * step_s, "tokens": 262_144})
    end = start + 400 * step_s
    lines += [{"event": "commit", "step": 399, "at": end}, {"event": "stop", "cause": "finished", "at": end}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_compare_takes_two_reports(tmp_path):
    reports = []
    for name, start, step_s in (("before", 1767225600, 9), ("after", 1767312000, 8)):
        _steady_log(tmp_path / f"{name}.jsonl", start, step_s)
        report = timeline(tmp_path / f"{name}.jsonl", from_=start, to=start + 3600)
        reports.append(tmp_path / f"{name}.json")
        reports[-1].write_text(json.dumps(report.raw))
    found = fleet_goodput.compare(*reports, title="faster")
    assert found.lever == "job" and found.verdict in ("accept", "not_decided")
    program = next(move for move in found.factors if move.factor == "program")
    assert program.ratio.value == pytest.approx(9 / 8, rel=0.05)
    assert found.falls_short == (found.verdict != "accept")
    assert "<table>" in found._repr_html_() and "<html" in found.to_html()
    pa = pytest.importorskip("pyarrow")
    assert program.ratio.value in pa.table(found.to_arrow())["ratio"].to_pylist()
    assert pa.table(found.to_arrow("adequacy")).num_rows == len(found.raw["adequacy"])
    with pytest.raises(GoodputError):
        fleet_goodput.compare(reports[0], tmp_path / "nothing.json")


PLAN = """
title: a week
job: {devices: 128, held: 7 d}
reliability: {mtbf: 302 h, recovery: 6.2 min}
checkpoint: {write: 9.8 s}
questions: [cadence]
"""


def test_plan_answers_its_questions(tmp_path):
    sheet = tmp_path / "plan.yaml"
    sheet.write_text(PLAN)
    report = fleet_goodput.plan(sheet, seed=3)
    assert (report.title, report.seed, [answer.question for answer in report.answers]) == ("a week", 3, ["cadence"])
    answer = report.answers[0]
    assert answer.figures and {given["source"] for given in answer.inputs} >= {"assumed"}
    assert answer.verdict in report.to_html(tmp_path / "plan.html") and "cadence" in report._repr_html_()
    pa = pytest.importorskip("pyarrow")
    figures = pa.table(report.to_arrow())
    assert figures["value"].to_pylist() == [figure.value for figure in answer.figures]
    assert set(figures["question"].to_pylist()) == {"cadence"}
    assert pa.table(report.to_arrow("inputs"))["field"].to_pylist() == [given["field"] for given in answer.inputs]
    sheet.write_text(PLAN.replace("mtbf: 302 h", "mtbf: soon"))
    with pytest.raises(GoodputError, match="mtbf"):
        fleet_goodput.plan(sheet)


def test_a_history_tells_what_became_worse(tmp_path):
    history, day_s = tmp_path / "history.jsonl", 86_400
    for day in range(24):
        start = 1767225600 + day * day_s
        _steady_log(tmp_path / "job.jsonl", start, (8 if day < 12 else 10) + day * 7 % 5 / 100)
        report = timeline(tmp_path / "job.jsonl", from_=start, to=start + 4100)
        (tmp_path / "job.json").write_text(json.dumps(report.raw))
        software = {"nccl": "2.26" if day < 12 else "2.27"}
        added = fleet_goodput.baseline_update(history, tmp_path / "job.json", model="m", software=software)
        assert (added.added, added.known, added.falls_short) == (1, 0, False)
    again = fleet_goodput.baseline_update(history, tmp_path / "job.json", model="m", software=software)
    assert (again.added, again.known) == (0, 1) and "<table>" in again._repr_html_()
    found = fleet_goodput.baseline_check(history)
    assert found.verdict == "regressed" and found.regressions >= 1 and not found.falls_short
    change = next(change for change in found.changes if change.tier == "gray_failure")
    assert (change.subject, change.worse, change.day) == ("job", True, "2026-01-13")
    assert [cause["after"] for cause in change.causes if cause["what"] == "nccl"] == ["2.27"]
    assert "nccl 2.26 to 2.27" in found._repr_html_() and "<html" in found.to_html()
    pa = pytest.importorskip("pyarrow")
    assert pa.table(found.to_arrow())["after"].to_pylist() == [change.after for change in found.changes]
    assert "nccl" in pa.table(found.to_arrow("causes"))["what"].to_pylist()
    assert pa.table(found.to_arrow("slow_hosts")).num_rows == 0
    only = fleet_goodput.baseline_check(history, tiers=["allocation"])
    assert {row["tier"] for row in only.raw["tiers"]} == {"allocation"}
    with pytest.raises(GoodputError, match="startup_recovery"):
        fleet_goodput.baseline_check(history, tiers=["startup"])
    with pytest.raises(GoodputError, match="nobody"):
        fleet_goodput.baseline_check(history, job="nobody")
    with pytest.raises(GoodputError, match="one report"):
        fleet_goodput.baseline_update(history)


def test_lint_finds_known_mistakes(tmp_path):
    sheet = tmp_path / "sheet.yaml"
    sheet.write_text("figures:\n  - {name: duty, value: 0.93, kind: duty_cycle}\nformula: goodput = duty\n")
    report = fleet_goodput.lint(sheet)
    assert report.kind == "sheet" and report.checks > 0
    assert "activity-called-goodput" in [finding.check for finding in report.findings]
    assert report.falls_short == (report.errors > 0)
    assert "<table>" in report._repr_html_() and "<html" in report.to_html()
    pa = pytest.importorskip("pyarrow")
    assert pa.table(report.to_arrow())["check"].to_pylist() == [finding.check for finding in report.findings]
    rows = sum(len(finding.corrected) for finding in report.findings)
    assert pa.table(report.to_arrow("corrected")).num_rows == rows
    sheet.write_text("figurs: []\n")
    with pytest.raises(GoodputError, match="figures"):
        fleet_goodput.lint(sheet)


SERVING = """
{"goodput_serving":1,"deployment":"chat","model":"llama3.1-70b","device":"H100 SXM5","dtype":"bf16"}
{"replica":"chat-0","at":1000,"event":"placed","devices":8,"pool":"serving"}
{"replica":"chat-0","at":1300,"event":"ready"}
{"replica":"chat-0","phase":"decode","from":1300,"to":2500,"steps":60000,"step_ns":13600000,"tokens":480000}
{"replica":"chat-0","at":2500,"event":"released"}
"""


def test_serving_accounts_replicas(tmp_path):
    log = tmp_path / "serving.jsonl"
    log.write_text(SERVING.lstrip())
    report = fleet_goodput.serving(log, price=2.0, currency="USD")
    row = report.rows[0]
    assert (row.deployment, row.replicas, row.held_ns, row.ready_ns) == ("chat", 1, 8 * 1500 * 10**9, 8 * 1200 * 10**9)
    assert 0.8 in [measure.value for measure in row.measures]
    assert sum(loss.amount_ns for loss in row.losses) < row.held_ns
    assert "chat" in report._repr_html_() and "<html" in report.to_html() and "# EOF" in report.to_openmetrics()
    pa = pytest.importorskip("pyarrow")
    measures = pa.table(report.to_arrow())
    assert measures["value"].to_pylist() == [measure.value for measure in row.measures]
    assert set(measures["deployment"].to_pylist()) == {"chat"} and set(measures["device"].to_pylist()) == {row.device}
    assert [int(held) for held in pa.table(report.to_arrow("rows"))["held_ns"].to_pylist()] == [row.held_ns]
    assert pa.table(report.to_arrow("losses"))["label"].to_pylist() == [loss.label for loss in row.losses]
    assert pa.table(report.to_arrow("decode_terms")).num_rows == len(report.raw["rows"][0]["decode_terms"])
    with pytest.raises(GoodputError, match="one log"):
        fleet_goodput.serving()
