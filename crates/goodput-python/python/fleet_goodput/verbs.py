"""The verbs of ``goodput`` as functions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from . import _native
from ._native import GoodputError
from .counter import _training
from .reports import AccountReport, FlopsReport, MfuAudit, MfuConversion, TimelineReport, TraceReport
from .serving_reports import ServingReport

Path = str | os.PathLike[str]
Time = str | int | datetime


def timeline(
    *files: Path,
    job: str | None = None,
    allocation: Iterable[tuple[Time, Time]] = (),
    sacct: Iterable[Path] = (),
    live: bool = False,
    planned_steps: int | None = None,
    traces: Iterable[Path] = (),
    devices: int | None = None,
    devices_per_slice: int | None = None,
    device: str | None = None,
    device_file: Path | None = None,
    dtype: str | None = None,
    peak_tflops: float | None = None,
    flops_per_token: float | None = None,
    contract: Path | None = None,
    from_: Time | None = None,
    to: Time | None = None,
    time_zone: str | None = None,
    title: str | None = None,
    price: float | None = None,
    currency: str | None = None,
) -> TimelineReport:
    """One job's runtime goodput from its own log: ``goodput timeline``.

    Parameters
    ----------
    files
        The job's logs, of any format that ``docs/readers.md`` lists; several files of one job are one timeline.
    job
        The job's id, for logs that do not say.
    allocation
        Held intervals as (from, to), one an attempt. Without them held time runs from the log's first evidence.
    sacct
        Job records to take the held intervals from instead.
    live
        The job still runs: the window ends now.
    planned_steps
        Steps that the job planned to retain in the window.
    traces
        Step traces of the job: they divide its program loss by terms (``docs/trace.md``).
    devices, devices_per_slice, device, device_file, dtype, peak_tflops, flops_per_token
        What is known of the work and the devices beside the log: accelerators, their name, more devices than the
        catalogue's own, dtype of the arithmetic, dense peak of one device in TFLOP/s, model FLOPs per real token.
    contract
        What is known of the measurement beside the records, for :func:`compare` (``examples/contract.yaml``).
    from_, to
        The window, half-open: RFC 3339, a date, seconds since the epoch, or an aware ``datetime``.
    time_zone
        IANA zone of stamps without an offset.
    price, currency
        Price of one device-hour, for costs.

    Raises
    ------
    GoodputError
        A log that cannot be read (with ``path``, ``line``, ``field`` and ``remedy``), or a request that contradicts
        itself.

    Source: ``docs/method.md``.
    """
    request = {
        "files": _paths(files),
        "job": job,
        "allocation": [f"{_time(start)}..{_time(end)}" for start, end in allocation],
        "sacct": _paths(sacct),
        "live": live,
        "planned_steps": planned_steps,
        "traces": _paths(traces),
        "work": {
            "devices": devices,
            "devices_per_slice": devices_per_slice,
            "device": device,
            "device_file": None if device_file is None else os.fspath(device_file),
            "dtype": dtype,
            "peak_tflops": _positive("peak_tflops", peak_tflops),
            "flops_per_token": _positive("flops_per_token", flops_per_token),
        },
        "contract": None if contract is None else os.fspath(contract),
        "window": _window(from_, to, time_zone),
        "report": {"title": title, "price": price, "currency": currency},
    }
    if not files:
        raise GoodputError("timeline: name one log or more")
    return TimelineReport.of(_native.timeline(json.dumps(request)))


def trace(
    *paths: Path,
    ranks: Mapping[Path, int] | None = None,
    raw_clocks: bool = False,
    device: str | None = None,
    device_file: Path | None = None,
    mesh: Path | None = None,
    timeline: Iterable[Path] = (),
    contract: Path | None = None,
    top: int = 50,
    title: str | None = None,
) -> TraceReport:
    """Where the device-time of the steps went, over all ranks, from step traces: ``goodput trace``.

    Parameters
    ----------
    paths
        Trace files, or directories of them, of any format that ``docs/trace.md`` lists.
    ranks
        Ranks of files that do not tell theirs.
    raw_clocks
        Compare the stamps of ranks as they are, without estimating clock offsets.
    device, device_file
        The device of all ranks, over what the traces say; more devices than the catalogue's own.
    mesh
        Mesh and sharding of the job, for the collective audit (``examples/mesh.yaml``).
    timeline
        The job's own logs: how long untraced steps take.
    contract
        What is known of the measurement beside the traces (``examples/contract.yaml``).
    top
        Rows of kernels and of operators.

    Raises
    ------
    GoodputError
        A trace that cannot be read, or ranks that cannot be told apart.

    Source: ``docs/trace.md``.
    """
    if not paths:
        raise GoodputError("trace: name one trace or more")
    request = {
        "paths": _paths(paths),
        "ranks": [f"{os.fspath(path)}={rank}" for path, rank in (ranks or {}).items()],
        "raw_clocks": raw_clocks,
        "device": device,
        "device_file": None if device_file is None else os.fspath(device_file),
        "mesh": None if mesh is None else os.fspath(mesh),
        "timeline": _paths(timeline),
        "contract": None if contract is None else os.fspath(contract),
        "top": top,
        "report": {"title": title},
    }
    return TraceReport.of(_native.trace(json.dumps(request)))


def account(
    fleet: Path | None = None,
    *,
    sacct: Iterable[Path] = (),
    sacct_columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    events: Iterable[Path] = (),
    nodes: Iterable[Path] = (),
    snapshots: Iterable[Path] = (),
    reservations: Iterable[Path] = (),
    tables: Iterable[Path] = (),
    imports: Mapping[Path, Iterable[Path]] | None = None,
    timelines: Mapping[str, Path] | Iterable[Path] = (),
    pools: Mapping[str, str] | None = None,
    denominator: str | None = None,
    planned_steps: Mapping[str, int] | None = None,
    jobs: int = 100,
    contract: Path | None = None,
    days: bool = False,
    from_: Time | None = None,
    to: Time | None = None,
    time_zone: str | None = None,
    title: str | None = None,
    price: float | None = None,
    currency: str | None = None,
) -> AccountReport:
    """A fleet's capacity over a window, every lost device-second charged once: ``goodput account``.

    Parameters
    ----------
    fleet
        A YAML file that names records, pools, prices and plans (``docs/fleet-file.md``). What is said here comes on
        top of it.
    sacct, events, nodes, snapshots, reservations, tables
        Records of the scheduler; ``goodput account --help`` lists what to ask a site for.
    sacct_columns, delimiter
        Columns of sacct text without a header, and its delimiter.
    imports
        Column map to CSV or Parquet files of any other source.
    timelines
        Logs of jobs, or a mapping of the job's id to its log.
    pools
        Pool to node list.
    denominator
        ``"in_service"`` (default) or ``"installed"``.
    planned_steps
        Planned steps of a job in the window.
    jobs
        Jobs without a timeline that get a row of their own, the largest first.
    contract
        As for :func:`timeline`.
    days
        Account every day apart too: the blocks from which :func:`compare` makes intervals.
    from_, to, time_zone, price, currency
        As for :func:`timeline`.

    Raises
    ------
    GoodputError
        A record that cannot be read (with ``path``, ``line``, ``field`` and ``remedy``), or records that make no
        account.

    Source: ``docs/method.md``.
    """
    if isinstance(timelines, Mapping):
        logs = [{"file": os.fspath(path), "job": job} for job, path in timelines.items()]
    else:
        logs = [{"file": path} for path in _paths(timelines)]
    request = {
        "sacct": _paths(sacct),
        "sacct_columns": None if sacct_columns is None else list(sacct_columns),
        "delimiter": delimiter,
        "events": _paths(events),
        "nodes": _paths(nodes),
        "snapshots": _paths(snapshots),
        "reservations": _paths(reservations),
        "tables": _paths(tables),
        "imports": [(os.fspath(column_map), _paths(files)) for column_map, files in (imports or {}).items()],
        "timelines": logs,
        "pools": dict(pools or {}),
        "planned_steps": dict(planned_steps or {}),
        "jobs": jobs,
        "days": days,
        "contract": None if contract is None else os.fspath(contract),
        "window": _window(from_, to, time_zone),
        "report": {"title": title, "price": price, "currency": currency},
    }
    path = None if fleet is None else os.fspath(fleet)
    return AccountReport.of(_native.account(json.dumps(request), path, denominator))


def serving(
    *files: Path,
    model: str | None = None,
    device: str | None = None,
    device_file: Path | None = None,
    dtype: str | None = None,
    weight_bits: int | None = None,
    kv_bits: int | None = None,
    traces: Iterable[Path] = (),
    contract: Path | None = None,
    from_: Time | None = None,
    to: Time | None = None,
    time_zone: str | None = None,
    title: str | None = None,
    price: float | None = None,
    currency: str | None = None,
) -> ServingReport:
    """A fleet of inference replicas from its own log, every held device-nanosecond charged once: ``goodput serving``.

    Parameters
    ----------
    files
        Logs of replicas: lifecycle events and samples of their work (``docs/serving-format.md``).
    model, device, device_file, dtype
        Over what the logs say: a known name, a ``config.json`` or our YAML; the device, more devices than the
        catalogue's own; dtype of the arithmetic.
    weight_bits, kv_bits
        Bits of a stored weight and of a cached value, where they are not the dtype's.
    traces
        Step traces of decode: they say what a step waits for.
    contract
        What is known of the measurement beside the logs, for :func:`compare` (``examples/contract.yaml``).
    from_, to, time_zone, price, currency
        As for :func:`timeline`.

    Raises
    ------
    GoodputError
        A log, a model or a trace that cannot be read, or logs that place no replica.

    Source: ``docs/serving.md``.
    """
    if not files:
        raise GoodputError("serving: name one log or more")
    request = {
        "files": _paths(files),
        "model": None if model is None else os.fspath(model),
        "device": device,
        "device_file": None if device_file is None else os.fspath(device_file),
        "dtype": dtype,
        "weight_bits": weight_bits,
        "kv_bits": kv_bits,
        "traces": _paths(traces),
        "contract": None if contract is None else os.fspath(contract),
        "window": _window(from_, to, time_zone),
        "report": {"title": title, "price": price, "currency": currency},
    }
    return ServingReport.of(_native.serving(json.dumps(request)))


def flops(
    model: Path,
    *,
    sequence_length: int | None = None,
    sequences: int | None = None,
    documents: Iterable[int] = (),
    row: int | None = None,
    pad_to: int | None = None,
    sources: Iterable[int] = (),
    images: Iterable[tuple[int, ...]] = (),
    forward: bool = False,
    freeze: Iterable[str] = (),
    lora_rank: int | None = None,
    lora_targets: Iterable[str] = (),
    prediction_modules: int = 0,
    recompute: str = "none",
) -> FlopsReport:
    """Exact FLOPs, parameters and bytes of a batch of a model, and every convention: ``goodput flops``.

    Parameters
    ----------
    model, forward, freeze, lora_rank, lora_targets, prediction_modules, recompute
        As for :class:`fleet_goodput.FlopCounter`.
    sequence_length, sequences
        Tokens of a sequence, one document each (4,096), and how many (1).
    documents
        Lengths of documents instead.
    row, pad_to
        Tokens of the packed row that the documents must fill, or to which every document is padded.
    sources
        Tokens of the source that an encoder reads for each document, or of its prompt.
    images
        Grids of patches as (height, width), or (frames, height, width) of a video.

    Raises
    ------
    GoodputError
        An unknown model, a field of it that changes FLOPs and is not supported, lengths that do not add up.

    Examples
    --------
    >>> flops("llama3.1-8b", sequence_length=8192).useful
    421651971833856

    Source: ``docs/flops.md``.
    """
    documents, sources = list(documents), list(sources)
    if documents and (sequence_length is not None or sequences is not None):
        raise GoodputError("give documents, or sequence_length and sequences, not both")
    training = _training(
        forward=forward,
        freeze=freeze,
        lora_rank=lora_rank,
        lora_targets=lora_targets,
        prediction_modules=prediction_modules,
        recompute=recompute,
    )
    batch: dict[str, object] = {
        "sequence": sequence_length,
        "sequences": sequences,
        "documents": documents,
        "row": row,
        "pad_to": pad_to,
        "sources": sources,
        "images": [grid if len(grid) == 3 else (1, *grid) for grid in images],
    }
    return FlopsReport.of(_native.flops(os.fspath(model), training, batch))


def mfu_convert(
    mfu: float,
    from_: str,
    to: str = "exact",
    *,
    model: Path,
    sequence_length: int,
    peak_from: float | str | None = None,
    peak_to: float | str | None = None,
    device: str | None = None,
    dtype: str | None = None,
    device_file: Path | None = None,
    scope_from: str = "real",
    scope_to: str = "real",
) -> MfuConversion:
    """A quoted MFU in another convention, peak and token scope, factor by factor: ``goodput mfu convert``.

    Parameters
    ----------
    mfu
        As a fraction, 0 to 1.
    from_, to
        Names of conventions, such as ``"palm"``, ``"megatron-lm"`` or ``"exact"`` (a wrong name lists them all).
    model
        A known name, a Hugging Face ``config.json``, or a YAML file in goodput's own form.
    sequence_length
        Tokens of a sequence.
    peak_from, peak_to
        The peaks behind the two: TFLOP/s, or ``"DEVICE:DTYPE"``; that of ``device`` and ``dtype`` when left out.
    scope_from, scope_to
        Tokens that the two count: ``"real"``, ``"padded=SHARE"``, ``"summed=RANKS"``, ``"divided=RANKS"``.

    Raises
    ------
    GoodputError
        A name that is not known, a peak of one side alone, or an MFU above 1 in exact FLOPs.

    Source: ``docs/mfu.md``.
    """
    request = {
        "mfu": mfu,
        "from": from_,
        "to": to,
        "model": os.fspath(model),
        "sequence_length": sequence_length,
        "peak_from": None if peak_from is None else str(peak_from),
        "peak_to": None if peak_to is None else str(peak_to),
        "device": device,
        "dtype": dtype,
        "device_file": None if device_file is None else os.fspath(device_file),
        "scope_from": scope_from,
        "scope_to": scope_to,
    }
    return MfuConversion.of(_native.mfu_convert(json.dumps(request)))


def mfu_audit(
    log: Path,
    *,
    model: Path,
    step: int | None = None,
    tolerance: float = 0.01,
    sequence_length: int | None = None,
    global_batch: int | None = None,
    gradient_accumulation: int | None = None,
    documents: Iterable[int] = (),
    real_share: float | None = None,
    devices: int | None = None,
    tensor_parallel: int | None = None,
    context_parallel: int | None = None,
    pipeline_parallel: int | None = None,
    data_parallel: int | None = None,
    device: str | None = None,
    device_file: Path | None = None,
    peak_tflops: float | None = None,
    dtype: str | None = None,
) -> MfuAudit:
    """Recomputes the speeds that a training log prints and names the faults that explain a difference: ``goodput mfu
    audit``.

    Parameters
    ----------
    log
        The training log, plain or gzipped.
    model
        A known name, a Hugging Face ``config.json``, or a YAML file in goodput's own form.
    step
        Step to audit; the median line by speed when left out.
    tolerance
        A difference up to this fraction is none, beside what rounding makes.
    sequence_length, global_batch, gradient_accumulation, documents, real_share
        The batch, over what the log says: tokens of a sequence, sequences of an optimizer step, its micro-batches,
        lengths of the documents packed into one sequence, share of tokens that are no padding.
    devices, tensor_parallel, context_parallel, pipeline_parallel, data_parallel
        The layout, over what the log says.
    device, device_file, peak_tflops, dtype
        The device, more devices than the catalogue's own, dense TFLOP/s of one over the catalogue's, dtype.

    Raises
    ------
    GoodputError
        A log or model that cannot be read, or figures that rest on what neither the log nor the call says.

    Source: ``docs/mfu.md``.
    """
    request = {
        "log": os.fspath(log),
        "model": os.fspath(model),
        "step": step,
        "tolerance": tolerance,
        "sequence_length": sequence_length,
        "global_batch": global_batch,
        "gradient_accumulation": gradient_accumulation,
        "documents": list(documents),
        "real_share": real_share,
        "devices": devices,
        "tensor_parallel": tensor_parallel,
        "context_parallel": context_parallel,
        "pipeline_parallel": pipeline_parallel,
        "data_parallel": data_parallel,
        "device": device,
        "device_file": None if device_file is None else os.fspath(device_file),
        "peak_tflops": _positive("peak_tflops", peak_tflops),
        "dtype": dtype,
    }
    return MfuAudit.of(_native.mfu_audit(json.dumps(request)))


def _paths(paths: Iterable[Path]) -> list[str]:
    if isinstance(paths, (str, bytes, os.PathLike)):
        raise GoodputError(f"{os.fspath(paths)!r}: expected a list of files, not one file's name")
    return [os.fspath(path) for path in paths]


def _share(name: str, value: float | None) -> float | None:
    if value is not None and not 0 <= value < 1:
        raise GoodputError(f"{name} is {value}: expected a share from 0 to 1")
    return value


def _positive(name: str, value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise GoodputError(f"{name} is {value}: expected a number above 0")
    return value


def _window(from_: Time | None, to: Time | None, time_zone: str | None) -> dict[str, str | None]:
    def text(time: Time | None) -> str | None:
        return None if time is None else _time(time)

    return {"from": text(from_), "to": text(to), "time_zone": time_zone}


def _time(time: Time) -> str:
    if isinstance(time, datetime):
        if time.tzinfo is None:
            raise GoodputError(f"{time.isoformat()}: expected an aware datetime, such as datetime(…, tzinfo=timezone.utc)")
        return time.isoformat()
    return str(time)
