"""Programs that some tests run for real and that no Python package provides.

Where one is missing its tests are skipped, and the run's last line says which command installs it.
With RECOLLECT_TEST_PARTS=required, as in CI, they fail instead.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

# Debian installs daemons where only the administrator's PATH looks.
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))


@dataclass(frozen=True)
class Program:
    title: str
    names: tuple[str, ...]
    provided_by: str

    def path(self) -> str:
        """Return its path; without it the calling test is skipped, or fails if it is required."""
        for name in self.names:
            if found := shutil.which(name, path=_PATH):
                return found
        reason = f"{self.title} is not installed: run `{self.provided_by}`"
        if os.environ.get("RECOLLECT_TEST_PARTS") == "required":
            pytest.fail(reason)
        pytest.skip(reason)


CHROMIUM = Program(
    "Chromium",
    (
        "chromium-headless-shell",  # half the processor time of the whole browser
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ),
    "apt-get install chromium-headless-shell",
)
SYSTEMD_ANALYZE = Program("systemd", ("systemd-analyze",), "apt-get install systemd")
BUILDAH = Program("Buildah", ("buildah",), "apt-get install buildah")
CADDY = Program("Caddy", ("caddy",), "apt-get install caddy")
PROMTOOL = Program("Prometheus", ("promtool",), "apt-get install prometheus")
PGBOUNCER = Program("PgBouncer", ("pgbouncer",), "apt-get install pgbouncer")


def summarize_skips(reports: Iterable[pytest.TestReport]) -> str:
    """Return one line: how many tests were skipped and why; each reason names the remedy."""
    reasons: Counter[str] = Counter()
    for report in reports:
        location = report.longrepr
        reason = location[2] if isinstance(location, tuple) else str(location)
        reasons[reason.removeprefix("Skipped: ")] += 1
    if not reasons:
        return "Nothing was skipped."
    parts = [f"{count} because {reason}" for reason, count in reasons.most_common()]
    return f"Skipped {'; '.join(parts)}."
