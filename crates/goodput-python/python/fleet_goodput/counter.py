"""FLOPs of a training loop's batches."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from . import _native

if TYPE_CHECKING:
    from typing_extensions import Self


def _training(
    *,
    forward: bool,
    freeze: Iterable[str],
    lora_rank: int | None,
    lora_targets: Iterable[str],
    prediction_modules: int,
    recompute: str,
) -> dict[str, object]:
    return {
        "forward": forward,
        "freeze": list(freeze),
        "adapter_rank": lora_rank,
        "adapter_targets": list(lora_targets),
        "prediction_modules": prediction_modules,
        "recompute": recompute,
    }


class FlopCounter(_native.FlopCounter):
    """Exact FLOPs of one model's batches, from the documents and images in them: what the meter is fed with.

    Parameters
    ----------
    model
        A known name (``goodput flops --list``), a Hugging Face ``config.json``, or a YAML file in goodput's own form.
    forward
        Count the forward pass alone.
    freeze
        Modules that are not trained (``docs/flops.md`` lists them).
    lora_rank, lora_targets
        Adapters of this rank on these modules (all projections of the blocks when left out); the rest is frozen.
    prediction_modules
        Multi-token prediction modules that are trained.
    recompute
        What a step computes a second time: ``"none"``, ``"fused_attention"``, ``"attention"`` or ``"full"``. It counts
        as executed, never as useful.

    Raises
    ------
    GoodputError
        An unknown model, a field of it that changes FLOPs and is not supported, lengths that cannot be.

    Examples
    --------
    >>> counter = FlopCounter("llama3.1-8b")
    >>> counter.documents([8192]).useful
    421651971833856
    >>> batch = counter.cu_seqlens([0, 1000, 4000], executed_tokens=4096)
    >>> batch.tokens, batch.executed_tokens, batch.useful < batch.executed
    (4000, 4096, True)

    Source: ``docs/flops.md``.
    """

    def __new__(
        cls,
        model: str | os.PathLike[str],
        *,
        forward: bool = False,
        freeze: Iterable[str] = (),
        lora_rank: int | None = None,
        lora_targets: Iterable[str] = (),
        prediction_modules: int = 0,
        recompute: str = "none",
    ) -> Self:
        training = _training(
            forward=forward,
            freeze=freeze,
            lora_rank=lora_rank,
            lora_targets=lora_targets,
            prediction_modules=prediction_modules,
            recompute=recompute,
        )
        return super().__new__(cls, os.fspath(model), training)
