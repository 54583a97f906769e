"""Reports: plain data, tables for Arrow, and a page for people.

Exact integers (nanoseconds, device-nanoseconds, FLOPs) are Python integers; in Arrow they are decimal128(38, 0).
Shares and factors are floats from 0 to 1, None where nothing settles them.
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from . import _native

Row = TypeVar("Row", bound="_Row")


class _Row:
    """A dataclass made from the fields of the same names of a JSON object."""

    @classmethod
    def of(cls: type[Row], values: dict[str, Any]) -> Row:
        return cls(**{f.name: _exact(f.name, values.get(f.name)) for f in fields(cls)})  # type: ignore[arg-type]


def _exact(name: str, value: Any) -> Any:
    return int(value) if name.endswith("_ns") and isinstance(value, str) else value


@dataclass(frozen=True)
class Factors(_Row):
    """What crossed each boundary over what arrived there; None where nothing settles it."""

    scheduling: float | None
    """Held over offered; None for one job."""
    runtime: float | None
    """Retained over held."""
    program: float | None
    """Ideal over retained."""
    mpg: float | None
    """The product: ideal over offered; None for one job."""
    job_product: float | None
    """Runtime x program."""


@dataclass(frozen=True)
class Loss(_Row):
    """Capacity-time that fails to cross one boundary."""

    boundary: str
    pattern: str
    label: str
    owner: str
    owners: list[str]
    lever: str
    amount_ns: int
    """Device-nanoseconds, exact."""
    device_hours: float
    share: float | None
    """Of the report's first level: offered for a fleet, held for a job."""
    open: bool
    """Whether evidence may still move it."""
    evidence: list[str]
    """Records that it came from, as ``file:line``."""


@dataclass(frozen=True)
class Lever(_Row):
    """What removing one loss is worth, the largest relative gain first."""

    rank: int
    lever: str
    boundary: str
    pattern: str
    owner: str
    loss_ns: int
    loss_device_hours: float
    relative_gain: float | None
    relative_gain_low: float | None
    worth: float | None
    condition: str | None
    open: bool


@dataclass(frozen=True)
class ReportWarning(_Row):
    """What a person should know before trusting a figure."""

    code: str
    message: str
    job: str | None
    source: str | None
    more: int


@dataclass(frozen=True)
class File(_Row):
    """What became of one file's rows."""

    path: str
    format: str
    rows: int
    used: int
    repaired: int
    refused: int


@dataclass(frozen=True)
class Steps(_Row):
    """Steps of a job by fate."""

    executed: int
    retained: int
    discarded: int
    pending: int
    planned: int | None


@dataclass(frozen=True)
class Pool:
    """One pool of a fleet."""

    name: str
    devices: int
    factors: Factors
    offered_ns: int
    held_ns: int
    retained_ns: int
    ideal_ns: int
    availability: float | None
    losses: list[Loss]


@dataclass(frozen=True)
class Job:
    """One job of a fleet."""

    id: str
    name: str
    user: str
    account: str
    pool: str
    state: str
    attempts: int
    devices: int
    factors: Factors
    held_ns: int
    retained_ns: int
    ideal_ns: int
    losses: list[Loss]


@dataclass(frozen=True)
class _Answer:
    raw: dict[str, Any] = field(repr=False)
    """Everything, as the command's JSON has it (``schemas/``)."""
    _report: _native.Report = field(repr=False, compare=False)

    def to_arrow(self, table: str) -> _native.ArrowTable:
        """Rows as an Arrow table, without a copy: ``pyarrow.table(t)``, ``polars.DataFrame(t)``,
        ``pandas.DataFrame.from_arrow(t)``."""
        return self._report.table(table)

    def __str__(self) -> str:
        return self._report.render("table", 100)


@dataclass(frozen=True)
class TraceFinding(_Row):
    """A trace pattern: what to shorten, the lever to try, the trade-off to check."""

    symptom: str
    label: str
    cause: str
    factor: str
    pattern: str
    term: str
    owner: str
    lever: str
    trade_off: str
    time_ns: int
    share: float
    evidence: list[str]


@dataclass(frozen=True)
class TraceRank:
    """One rank: nanoseconds of its judged steps, charged once."""

    rank: int | None
    file: str
    window_ns: int
    compute_ns: int
    exposed_comm_ns: int
    exposed_mem_ns: int
    idle_ns: int
    charges: dict[str, int]
    """Every charge, as ``<class>_ns``."""
    steps: list[dict[str, Any]]
    """Steps with their host and device windows, as in the command's JSON."""


@dataclass(frozen=True)
class TraceReport(_Answer):
    """Where the device-time of the steps went, over all ranks."""

    window_ns: int
    """Device-time of the judged steps of all ranks."""
    charges: dict[str, int]
    """Every nanosecond of it by charge, as ``<class>_ns``."""
    program_goodput_upper_bound: float | None
    """Kernels that compute over step time, input waits left out."""
    term: str | None
    """The term of the step to shorten, as far as the traces name one."""
    findings: list[TraceFinding]
    ranks: list[TraceRank]
    warnings: list[str]
    falls_short: bool
    """Whether events were lost, or a warning questions a figure."""

    @classmethod
    def of(cls, report: _native.Report) -> TraceReport:
        raw = json.loads(report.json())
        keys = ("rank", "file")
        amounts = ("window_ns", "compute_ns", "exposed_comm_ns", "exposed_mem_ns", "idle_ns", "charges")
        ranks = [
            TraceRank(
                **{key: rank[key] for key in keys},
                **{key: rank["total"][key] for key in amounts},
                steps=rank["steps"],
            )
            for rank in raw["ranks"]
        ]
        return cls(
            raw=raw,
            _report=report,
            window_ns=raw["total"]["window_ns"],
            charges=raw["total"]["charges"],
            program_goodput_upper_bound=raw["program_goodput_upper_bound"],
            term=(raw["triage"] or {}).get("term"),
            findings=[TraceFinding.of(row) for row in raw["findings"]],
            ranks=ranks,
            warnings=raw["warnings"],
            falls_short=report.falls_short,
        )

    def to_arrow(self, table: str = "charges") -> _native.ArrowTable:
        """Rows as an Arrow table: ``charges``, ``findings``, ``ranks``, ``blame``, ``kernels``, ``operators``,
        ``classes`` or ``trace_files``."""
        return self._report.table(table)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The whole report as one page that works offline; with ``path`` it is written there too."""
        return _write(self._report.render("html", 100), path)


@dataclass(frozen=True)
class _Report(_Answer):
    factors: Factors
    held_ns: int
    """Device-nanoseconds held by complete allocations."""
    retained_ns: int
    """Productive device-nanoseconds on retained steps."""
    ideal_ns: int
    """The same steps at the ideal rate."""
    losses: list[Loss]
    levers: list[Lever]
    warnings: list[ReportWarning]
    files: list[File]
    falls_short: bool
    """Whether rows were repaired or refused, or a warning questions a figure."""

    def to_arrow(self, table: str = "losses") -> _native.ArrowTable:
        """Rows as an Arrow table, without a copy: ``pyarrow.table(t)``, ``polars.DataFrame(t)``,
        ``pandas.DataFrame.from_arrow(t)``.

        ``table`` is ``losses``, ``levers``, ``warnings``, ``files``, or of a fleet ``pools`` or ``jobs``.
        """
        return self._report.table(table)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The whole report as one page that works offline; with ``path`` it is written there too."""
        return _write(self._report.render("html", 100), path)

    def to_openmetrics(self, path: str | os.PathLike[str] | None = None) -> str:
        """OpenMetrics text for a scraper."""
        return _write(self._report.render("openmetrics", 100), path)

    def _repr_html_(self) -> str:
        shown = {name: value for name, value in vars(self.factors).items() if value is not None}
        losses = [
            (loss.boundary, loss.label, loss.owner, f"{loss.device_hours:,.2f}", _percent(loss.share))
            for loss in self.losses
        ]
        return (
            _html_table(tuple(shown), [tuple(f"{value:.4f}" for value in shown.values())])
            + _html_table(("boundary", "loss", "owner", "device-hours", "share"), losses)
            + _html_list(warning.message for warning in self.warnings)
        )


def _common(report: _native.Report, raw: dict[str, Any]) -> dict[str, Any]:
    capacity = raw["capacity_time"]
    return {
        "factors": Factors.of(raw["factors"]),
        "held_ns": int(capacity["held_ns"]),
        "retained_ns": int(capacity["retained_ns"]),
        "ideal_ns": int(capacity["ideal_ns"]),
        "losses": [Loss.of(row) for row in raw["losses"]],
        "levers": [Lever.of(row) for row in raw["levers"]],
        "warnings": [ReportWarning.of(row) for row in raw["warnings"]],
        "files": [File.of(row) for row in raw["read_report"]["files"]],
        "falls_short": report.falls_short,
        "raw": raw,
        "_report": report,
    }


@dataclass(frozen=True)
class TimelineReport(_Report):
    """One job: runtime and program goodput, and every loss of its held time."""

    job: str | None
    devices: int
    steps: Steps
    fault_free_step_ns: int | None
    """f, the median steady step with input ready."""
    mfu: float | None
    """Of the retained steps whose work is known; None without FLOPs or peak."""

    @classmethod
    def of(cls, report: _native.Report) -> TimelineReport:
        raw = json.loads(report.json())
        basis = raw["program_basis"]
        return cls(
            job=raw["job"],
            devices=raw["held"]["devices"],
            steps=Steps.of(raw["steps"]),
            fault_free_step_ns=_exact("_ns", raw["fault_free_step_ns"]),
            mfu=None if basis is None else basis["mfu"],
            **_common(report, raw),
        )


@dataclass(frozen=True)
class AccountReport(_Report):
    """A fleet: the three factors, every loss with its owner, pools and jobs."""

    offered_ns: int
    """Device-nanoseconds in service (or installed)."""
    availability: float | None
    pools: list[Pool]
    jobs: list[Job]

    @classmethod
    def of(cls, report: _native.Report) -> AccountReport:
        raw = json.loads(report.json())
        return cls(
            offered_ns=int(raw["capacity_time"]["offered_ns"]),
            availability=raw["availability"],
            pools=[_part(Pool, row) for row in raw["pools"]],
            jobs=[_part(Job, row) for row in raw["jobs"]],
            **_common(report, raw),
        )


def _part(kind: type, row: dict[str, Any]) -> Any:
    """A pool or a job, whose ledger is spread over its row."""
    values = {**row, **row["capacity_time"]}
    values["factors"] = Factors.of(row["factors"])
    values["losses"] = [Loss.of(loss) for loss in row["losses"]]
    return kind(**{f.name: _exact(f.name, values[f.name]) for f in fields(kind)})


@dataclass(frozen=True)
class ComponentFlops:
    """FLOPs of one component of a model."""

    component: str
    useful: int
    padding: int
    recompute: int
    share: float | None
    """Of the useful FLOPs."""


@dataclass(frozen=True)
class ConventionFlops:
    """What one published convention counts for a token."""

    name: str
    title: str
    source: str
    flops_per_token: float | None
    ratio_to_exact: float | None
    ratio_to_batch: float | None
    note: str


@dataclass(frozen=True)
class FlopsReport(_Answer):
    """Exact FLOPs of a batch, and every convention. Tables for Arrow: ``components``, ``conventions``."""

    model: str
    tokens: int
    executed_tokens: int
    useful: int
    """FLOPs of real tokens, forward and backward, without recomputation."""
    padding: int
    recompute: int
    executed: int
    """All three."""
    useful_per_token: float | None
    components: list[ComponentFlops]
    conventions: list[ConventionFlops]
    parameters: int
    active_parameters: int

    @classmethod
    def of(cls, report: _native.Report) -> FlopsReport:
        raw = json.loads(report.json())
        total = raw["flops"]
        return cls(
            model=raw["model"],
            tokens=raw["batch"]["tokens"],
            executed_tokens=raw["batch"]["executed_tokens"],
            useful=int(total["useful"]["total"]),
            padding=int(total["padding"]["total"]),
            recompute=int(total["recompute"]),
            executed=int(total["executed"]),
            useful_per_token=total["useful_per_token"],
            components=[
                ComponentFlops(
                    component=row["component"],
                    useful=int(row["useful"]["total"]),
                    padding=int(row["padding"]["total"]),
                    recompute=int(row["recompute"]),
                    share=row["share"],
                )
                for row in raw["components"]
            ],
            conventions=[
                ConventionFlops(**{f.name: row[f.name] for f in fields(ConventionFlops)}) for row in raw["conventions"]
            ],
            parameters=int(raw["parameters"]["total"]),
            active_parameters=int(raw["parameters"]["active"]),
            raw=raw,
            _report=report,
        )

    def _repr_html_(self) -> str:
        head = [("useful", f"{self.useful:,}"), ("padding", f"{self.padding:,}"), ("recompute", f"{self.recompute:,}")]
        rows = [(c.component, f"{c.useful:,}", _percent(c.share)) for c in self.components]
        conventions = [
            (c.name, "" if c.flops_per_token is None else f"{c.flops_per_token:,.0f}", _ratio(c.ratio_to_exact))
            for c in self.conventions
        ]
        return (
            _html_table((self.model, "FLOPs"), head)
            + _html_table(("component", "useful FLOPs", "share"), rows)
            + _html_table(("convention", "FLOPs a token", "over exact"), conventions)
        )


@dataclass(frozen=True)
class QuotedMfu(_Row):
    """An MFU and what it rests on."""

    mfu: float
    convention: str
    convention_source: str
    flops_per_token: float
    peak_flops_per_second: float | None
    peak_source: str | None
    tokens: str


@dataclass(frozen=True)
class ConversionFactor(_Row):
    """One of the factors between two MFUs: ``flops_per_token``, ``peak`` or ``tokens``."""

    factor: str
    from_: float
    to: float
    ratio: float


@dataclass(frozen=True)
class MfuConversion(_Answer):
    """A quoted MFU in another basis. Table for Arrow: ``factors``."""

    model: str
    sequence_length: int
    from_: QuotedMfu
    to: QuotedMfu
    exact_mfu: float
    """In exact FLOPs of real tokens at the peak of ``to``."""
    factors: list[ConversionFactor]
    product: float
    warnings: list[str]

    @classmethod
    def of(cls, report: _native.Report) -> MfuConversion:
        raw = json.loads(report.json())
        return cls(
            model=raw["model"],
            sequence_length=raw["sequence_length"],
            from_=QuotedMfu.of(raw["from"]),
            to=QuotedMfu.of(raw["to"]),
            exact_mfu=raw["exact_mfu"],
            factors=[ConversionFactor.of({**row, "from_": row["from"]}) for row in raw["factors"]],
            product=raw["product"],
            warnings=raw["warnings"],
            raw=raw,
            _report=report,
        )

    def _repr_html_(self) -> str:
        rows = [(f.factor, _figure(f.from_), _figure(f.to), f"{f.ratio:.4f}") for f in self.factors]
        sides = [
            (side, _percent(quoted.mfu), quoted.convention, quoted.tokens)
            for side, quoted in (("from", self.from_), ("to", self.to))
        ]
        return (
            _html_table(("", "MFU", "convention", "tokens"), sides)
            + _html_table(("factor", "from", "to", "ratio"), rows)
            + _html_list(self.warnings)
        )


@dataclass(frozen=True)
class AuditedFigure:
    """One figure that a log prints, against the right one."""

    figure: str
    printed: float
    right: float | None
    ratio: float | None
    verdict: str
    """``agrees``, ``follows``, ``explained``, ``not_explained`` or ``nothing_to_compare``."""
    follows: str | None
    """The printed figure from which it follows."""
    faults: list[str]
    """Names of the known faults that explain it best."""


@dataclass(frozen=True)
class MfuAudit(_Answer):
    """The speeds that a training log prints, recomputed. Table for Arrow: ``figures``."""

    figures: list[AuditedFigure]
    flops_per_token: float
    tokens_per_second: float | None
    tflops_per_device: float | None
    mfu: float | None
    warnings: list[str]
    falls_short: bool
    """Whether a printed figure is wrong."""

    @classmethod
    def of(cls, report: _native.Report) -> MfuAudit:
        raw = json.loads(report.json())
        names = ("figure", "printed", "right", "ratio", "verdict", "follows")
        faults = [[f["name"] for e in row["explanations"][:1] for f in e["faults"]] for row in raw["figures"]]
        return cls(
            figures=[
                AuditedFigure(**{name: row[name] for name in names}, faults=found)
                for row, found in zip(raw["figures"], faults)
            ],
            flops_per_token=raw["flops_per_token"],
            tokens_per_second=raw["tokens_per_second"],
            tflops_per_device=raw["tflops_per_device"],
            mfu=raw["mfu"],
            warnings=raw["warnings"],
            falls_short=report.falls_short,
            raw=raw,
            _report=report,
        )

    def _repr_html_(self) -> str:
        rows = [
            (f.figure, _figure(f.printed), "" if f.right is None else _figure(f.right), f.verdict, ", ".join(f.faults))
            for f in self.figures
        ]
        return _html_table(("figure", "printed", "right", "verdict", "faults"), rows) + _html_list(self.warnings)


def _figure(value: float) -> str:
    """FLOPs whole, small figures with six digits."""
    return f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:.6g}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.2%}"


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.4f}"


def _html_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def cells(tag: str, row: Iterable[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"

    body = "".join(cells("td", row) for row in rows)
    return f"<table><thead>{cells('th', head)}</thead><tbody>{body}</tbody></table>"


def _html_list(items: Iterable[str]) -> str:
    text = "".join(f"<li>{html.escape(item)}</li>" for item in items)
    return f"<ul>{text}</ul>" if text else ""


def _write(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return text
