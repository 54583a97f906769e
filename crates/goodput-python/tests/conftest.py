import json

import pytest

from fleet_goodput import timeline


class Log:
    """A timeline under test: its lines, and its report."""

    def __init__(self, path):
        self.path = path

    def lines(self):
        return [json.loads(line, parse_float=str) for line in self.path.read_text().splitlines()]

    def steps(self):
        return [line["step"] for line in self.lines() if "step" in line and "start" in line]

    def events(self, event):
        return [line for line in self.lines() if line.get("event") == event]

    def phases(self, phase):
        return [line for line in self.events("phase") if line["phase"] == phase]

    def report(self):
        """The report, once no line of the log gave the reader or the accounting anything to say."""
        instants = [line[key] for line in self.lines() for key in ("at", "end") if key in line]
        report = timeline(self.path, allocation=[(instants[0], max(instants, key=float))])
        (file,) = report.raw["read_report"]["files"]
        assert (file["refused"], file["repaired"], file["counts"]) == (0, 0, {}), file
        assert report.warnings == [], report.warnings
        return report


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path / "run.jsonl")
