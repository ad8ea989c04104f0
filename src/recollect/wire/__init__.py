"""The JSON shapes that leave and enter a process: one definition for every shell.

The REST API answers with them, the remote client reads them, `--json` prints them and MCP calls
them structured content. They say what is sent; what is allowed is said by `core`.
"""

from recollect.wire.answers import (
    ExplanationOut,
    ForgottenOut,
    HealthOut,
    HitOut,
    LegPlaceOut,
    LegReportOut,
    MemoryOut,
    PageOut,
    RecollectionOut,
    SettingsOut,
    StatsOut,
)
from recollect.wire.inputs import ChangesIn, DraftIn, ListIn, RecallIn, ScopeIn, SettingsIn
from recollect.wire.problems import KINDS, Problem

__all__ = [
    "KINDS",
    "ChangesIn",
    "DraftIn",
    "ExplanationOut",
    "ForgottenOut",
    "HealthOut",
    "HitOut",
    "LegPlaceOut",
    "LegReportOut",
    "ListIn",
    "MemoryOut",
    "PageOut",
    "Problem",
    "RecallIn",
    "RecollectionOut",
    "ScopeIn",
    "SettingsIn",
    "SettingsOut",
    "StatsOut",
]
