"""The benchmark's plan, its table and its progress, without PyTorch; the whole of it on a CPU where PyTorch is there."""

import csv
import json
import re
from pathlib import Path

import pytest

from fleet_goodput.bench import cli, plan
from fleet_goodput.bench.measure import summary
from fleet_goodput.bench.plan import Model, PlanError, Request
from fleet_goodput.bench.progress import Progress, clock
from fleet_goodput.bench.table import COLUMNS, Table, TableError

CONFIG = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "hidden_act": "silu",
}


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    return path


def row(**cells):
    return {"kind": "gemm", "device": "cpu", "dtype": "bf16", "pass": "forward", "state": "burst", **cells}


def test_columns_are_those_that_calibrate_reads():
    source = Path(__file__).parents[2] / "goodput-predict/src/measured/columns.rs"
    if not source.exists():
        pytest.skip("not in the repository")
    listed = source.read_text().split("COLUMNS: [&str", 1)[1].split("= [", 1)[1].split("]", 1)[0]
    assert re.findall(r'"(\w+)"', listed) == COLUMNS


def test_the_models_own_shapes_come_first(config):
    request = Request(only=["gemm"], model=Model.from_config(config), tp=8, sequence=8192)
    rows = plan.plan(request)
    shapes = [(row["m"], row["n"], row["k"]) for row in rows if row["pass"] == "forward"]
    assert shapes[:5] == [
        (8192, (4 + 2) * 128, 4096),
        (8192, 4096, 512),
        (8192, 2 * 14336 // 8, 4096),
        (8192, 4096, 14336 // 8),
        (8192, 128256 // 8, 4096),
    ]
    # Each once, in all passes.
    assert len({tuple(row.items()) for row in rows}) == len(rows)
    assert {row["pass"] for row in rows} == {"forward", "dgrad", "wgrad"}


def test_experts_are_a_grouped_product(tmp_path):
    path = tmp_path / "config.json"
    moe = {"num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 1024}
    path.write_text(json.dumps(CONFIG | moe))
    rows = plan.plan(Request(only=["gemm"], model=Model.from_config(path), ep=8, sequence=4096))
    grouped = [row for row in rows if row["kind"] == "grouped_gemm"]
    assert {row["experts"] for row in grouped} == {8}
    assert {row["m"] for row in grouped} == {4096 * 8 * 8 // 64}


def test_only_long_arithmetic_is_sustained():
    rows = plan.plan(Request(sustained_s=5.0))
    sustained = [row for row in rows if row["state"] == "sustained"]
    assert sustained
    assert all(row["kind"] in ("gemm", "attention") and plan.flops(row) >= 1e10 for row in sustained)
    assert not any(row["state"] == "burst" for row in plan.plan(Request(burst=False, sustained_s=5.0)))


def test_a_budget_takes_the_first_and_what_does_not_fit_in_memory_is_left_out():
    request = Request()
    rows = plan.plan(request)
    part = plan.within(rows, request, 10.0)
    assert 0 < len(part) < len(rows)
    assert part == rows[: len(part)]
    assert sum(plan.estimated_s(row, request) for row in part) <= 10.0
    small = plan.plan(Request(memory_bytes=1e9))
    assert 0 < len(small) < len(rows)
    assert all(plan.operand_bytes(row) < 0.4e9 for row in small)


def test_exchanges_need_ranks():
    assert not plan.plan(Request(only=["collectives"]))
    rows = plan.plan(Request(only=["collectives"], ranks=16, nodes=2))
    assert {(row["ranks"], row["nodes"]) for row in rows} == {(16, 2)}
    assert "send_receive" not in {row["kind"] for row in rows}
    assert "send_receive" in {row["kind"] for row in plan.plan(Request(only=["collectives"], ranks=2))}


def test_a_table_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "bench.csv"
    rows = [row(m=m, n=64, k=64) for m in (1, 2, 3)]
    table = Table(path)
    for done in rows[:2]:
        table.append({**done, "time_us": "1.5", "software": "torch, of \"some\" version"})
    again = Table(path)
    assert again.pending(rows) == rows[2:]
    # The last line was cut off while it was written.
    with path.open("ab") as file:
        file.write(b"gemm,cpu,bf16,forward,3,64")
    torn = Table(path)
    assert torn.torn
    assert torn.pending(rows) == rows[2:]
    torn.append({**rows[2], "time_us": "2"})
    with path.open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [line["m"] for line in read] == ["1", "2", "3"]
    assert all(None not in line and None not in line.values() for line in read)
    assert not Table(path).pending(rows)


@pytest.mark.parametrize("torn", ["", "kind,dev", ",".join(COLUMNS)])
def test_a_table_cut_off_in_its_header_begins_again(tmp_path, torn):
    path = tmp_path / "bench.csv"
    path.write_text(torn)
    table = Table(path)
    table.append({**row(m=1, n=1, k=1), "time_us": "1"})
    assert len(Table(path).done) == 1
    assert path.read_text().startswith("kind,device,")


def test_a_table_of_something_else_is_refused(tmp_path):
    path = tmp_path / "bench.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="other columns"):
        Table(path)
    assert path.read_text() == "a,b\n1,2\n"


def test_the_median_and_its_spread():
    found = summary([10.0, 11.0, 100.0])
    assert (found.us, found.repeats) == (11.0, 3)
    assert found.spread == pytest.approx(1.4826 / 11.0)


def test_time_left_follows_how_it_went(capsys):
    now = iter([0.0, 0.0, 10.0, 10.0, 10.0, 10.0, 10.0])
    progress = Progress(total_s=20.0, count=2, now=lambda: next(now, 10.0))
    assert progress.left_s() == 20.0
    progress.step(5.0, "gemm")
    # 5 estimated seconds took 10: the other 15 take 30.
    assert progress.left_s() == 30.0
    assert "1/2" in capsys.readouterr().err
    assert (clock(61), clock(3723)) == ("1:01", "1:02:03")


def test_a_dry_run_needs_no_torch(capsys, config):
    assert cli.main(["--dry-run", "--only", "gemm,attention", "--model", str(config), "--tp", "8"]) == 0
    captured = capsys.readouterr()
    assert "kv_heads=1" in captured.out
    assert "measurements" in captured.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--only", "convolution"], "--only"),
        (["--dtype", "int4"], "--dtype"),
        (["--tp", "0"], "--tp"),
        (["--model", "nowhere.json"], "nowhere.json"),
    ],
)
def test_an_option_that_cannot_be_is_named(capsys, arguments, says):
    assert cli.main(["--dry-run", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_a_config_that_is_no_decoders_is_refused(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("{}")
    with pytest.raises(PlanError, match="hidden_size"):
        Model.from_config(path)


def test_on_a_cpu_every_group_is_measured_and_resumed(tmp_path, capsys):
    pytest.importorskip("torch")
    path = tmp_path / "bench.csv"
    arguments = ["-o", str(path), "--device", "cpu", "--reps", "2", "--sustained", "0"]
    assert cli.main(arguments) == 0, capsys.readouterr().err
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = {line["kind"] for line in rows}
    assert {"gemm", "attention", "copy", "adam", "host", "cross_entropy"} <= kinds
    assert all(float(line["time_us"]) > 0 for line in rows)
    before = path.read_bytes()
    assert cli.main(arguments) == 0
    assert path.read_bytes() == before
