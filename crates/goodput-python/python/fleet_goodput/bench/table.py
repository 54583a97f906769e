"""The table that is written: CSV, appended row by row, so that a run that was cut off goes on where it stopped."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

COLUMNS = (
    "kind device dtype pass m n k experts accumulate cast kernel batch heads kv_heads queries keys head_dim value_dim mask "
    "values ranks nodes bytes state time_us spread repeats software conditions"
).split()
"""Columns of ``goodput calibrate`` (docs/calibrate.md)."""

KEY = [name for name in COLUMNS if name not in ("time_us", "spread", "repeats", "software", "conditions")]
"""What tells one measurement from another."""


class TableError(Exception):
    """A file that is no such table."""


def key(row: Mapping[str, object]) -> tuple[str, ...]:
    """What tells this row from others."""
    return tuple(str(row.get(name, "")) for name in KEY)


class Table:
    """Rows on disk. A last line without its end was cut off while it was written: it is dropped, and measured again."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.done: set[tuple[str, ...]] = set()
        self.torn = False
        """Whether a last line was dropped."""
        if not self.path.exists() or self.path.stat().st_size == 0:
            return
        text = self.path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        self.torn = len(whole) < len(text)
        rows = csv.DictReader(io.StringIO(whole.decode("utf-8-sig", errors="replace")))
        if whole and list(rows.fieldnames or []) != COLUMNS:
            raise TableError(f"{self.path}: line 1 has other columns than this program writes; choose another file with -o")
        self.done = {key(row) for row in rows if None not in row.values() and row.get("time_us")}
        if self.torn:
            with self.path.open("r+b") as file:
                file.truncate(len(whole))

    def pending(self, rows: Iterable[Mapping[str, object]]) -> list[Mapping[str, object]]:
        """Rows that are not there yet, each once."""
        seen = set(self.done)
        left = []
        for row in rows:
            if key(row) not in seen:
                seen.add(key(row))
                left.append(row)
        return left

    def append(self, row: Mapping[str, object]) -> None:
        """Writes a row, whole, through to the disk."""
        line = io.StringIO()
        writer = csv.DictWriter(line, COLUMNS, lineterminator="\n")
        fresh = not self.path.exists() or self.path.stat().st_size == 0
        if fresh:
            writer.writeheader()
        writer.writerow(row)
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(line.getvalue())
            file.flush()
            os.fsync(file.fileno())
        self.done.add(key(row))
