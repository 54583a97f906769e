"""FLOPs and MFU as functions."""

import doctest

import pytest

from fleet_goodput import FlopCounter, GoodputError, flops, mfu_audit, mfu_convert

# Llama-3 8B, one sequence of 8192.
EXACT = 421_651_971_833_856


def test_flops_are_exact():
    report = flops("llama3.1-8b", sequence_length=8192)
    assert (report.useful, report.padding, report.recompute, report.executed) == (EXACT, 0, 0, EXACT)
    assert sum(component.useful for component in report.components) == EXACT
    assert (report.tokens, report.parameters) == (8192, 8_030_261_248)
    conventions = {convention.name: convention.ratio_to_exact for convention in report.conventions}
    assert conventions["exact"] == 1.0
    assert "<table>" in report._repr_html_() and "llama" in str(report).lower()
    pa = pytest.importorskip("pyarrow")
    components = pa.table(report.to_arrow("components"))
    assert sum(int(n) for n in components["useful"].to_pylist()) == EXACT
    assert pa.table(report.to_arrow("conventions")).num_rows == len(conventions)


def test_padding_and_recomputation_are_executed_only():
    full = flops("llama3.1-8b", documents=[1000, 2000], pad_to=4096, recompute="full")
    plain = flops("llama3.1-8b", documents=[1000, 2000])
    assert full.useful == plain.useful == plain.executed
    assert full.executed == full.useful + full.padding + full.recompute
    assert full.padding > 0 and full.recompute > 0
    assert (full.tokens, full.executed_tokens) == (3000, 8192)


def test_the_loops_counter_counts_the_same():
    counter = FlopCounter("llama3.1-8b")
    report = flops("llama3.1-8b", documents=[1000, 3000])
    for batch in (counter.documents([1000, 3000]), counter.cu_seqlens([0, 1000, 4000])):
        assert (batch.useful, batch.executed, batch.tokens) == (report.useful, report.executed, 4000)
    padded = counter.cu_seqlens([0, 1000, 4000], executed_tokens=4096)
    assert padded.useful == report.useful < padded.executed
    assert counter.cu_seqlens([0, 1000, 4000], [0, 1024, 4096]).executed_tokens == 4096


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: flops("llama-9000"), "llama-9000"),
        (lambda: flops("llama3.1-8b", documents=[10], sequence_length=10), "not both"),
        (lambda: flops("llama3.1-8b", documents=[10], row=11), "pad_to="),
        (lambda: flops("llama3.1-8b", freeze=["nothing"]), "expected some of"),
        (lambda: flops("llama3.1-8b", recompute="half"), "expected one of none"),
        (lambda: FlopCounter("llama3.1-8b").cu_seqlens([0, 10, 5]), "cu_seqlens"),
    ],
)
def test_what_cannot_be_counted_says_why(call, why):
    with pytest.raises(GoodputError, match=why):
        call()


def test_a_config_that_is_wrong_names_file_and_field(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama", "hidden_size": 64}')
    with pytest.raises(GoodputError) as refused:
        flops(path)
    assert refused.value.path == str(path) and refused.value.field


def test_a_quoted_mfu_in_exact_flops():
    converted = mfu_convert(0.43, "palm", model="llama3.1-8b", sequence_length=8192)
    # PaLM counts square attention: 57.9144 GFLOP a token against 51.4712.
    assert converted.to.mfu == pytest.approx(0.43 * 51.4712 / 57.9144, rel=1e-4)
    assert converted.product == pytest.approx(converted.to.mfu / converted.from_.mfu)
    assert [factor.factor for factor in converted.factors][0] == "flops_per_token"
    assert "palm" in converted._repr_html_()
    sparse = mfu_convert(0.2, "exact", model="llama3.1-8b", sequence_length=8192, peak_from=1978.8, peak_to=989.4)
    assert sparse.to.mfu == pytest.approx(0.4)
    with pytest.raises(GoodputError, match="palm"):
        mfu_convert(0.43, "plam", model="llama3.1-8b", sequence_length=8192)


LOG = """\
[titan] - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with 79.11GiB memory
[titan] - root - INFO - Building 1-D device mesh with ['dp_shard'], [8]
[titan] - root - INFO - Trainer is initialized with local batch size 1, global batch size 8, \
gradient accumulation steps 1, sequence length 8192, total steps 100 (warmup 2)
[titan] - root - INFO - step: 10  loss:  9.8  memory: 49.5GiB(35.46%)  tps: 7,026  tflops: 406.91  mfu: 41.14%
"""


def test_a_log_is_audited(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(LOG)
    audit = mfu_audit(path, model="llama3.1-8b", dtype="bf16")
    assert audit.falls_short
    figures = {figure.figure: figure for figure in audit.figures}
    assert figures["tflops_per_device"].faults == ["causal-as-square"]
    assert audit.mfu == pytest.approx(7026 * 51.4712e9 / 989.4e12, rel=1e-3)
    assert "causal-as-square" in audit._repr_html_()
    pa = pytest.importorskip("pyarrow")
    assert "causal-as-square" in pa.table(audit.to_arrow("figures"))["fault"].to_pylist()


def test_docstrings_hold():
    import fleet_goodput.counter
    import fleet_goodput.verbs

    for module in (fleet_goodput.counter, fleet_goodput.verbs):
        assert doctest.testmod(module).failed == 0
