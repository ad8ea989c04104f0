"""The JSON shapes that leave and enter a process: one definition for every shell.

The REST API answers with them, the remote client reads them, `--json` prints them and MCP calls
them structured content. They say what is sent; what is allowed is said by `core`.
"""

from recollect.wire.answers import (
    EmbeddingOut,
    ForgottenOut,
    HealthOut,
    MemoryOut,
    PageOut,
    StatsOut,
)
from recollect.wire.explained import (
    ObstacleOut,
    WhyLegOut,
    WhyOut,
)
from recollect.wire.inputs import (
    ChangesIn,
    DraftIn,
    ListIn,
    ScopeIn,
)
from recollect.wire.problems import (
    KINDS,
    Problem,
)
from recollect.wire.questions import (
    EpisodesIn,
    RecallIn,
    WhyIn,
)
from recollect.wire.recalled import (
    ExplanationOut,
    HitOut,
    LegPlaceOut,
    LegReportOut,
    RecollectionOut,
)
from recollect.wire.tuning import (
    SettingChangeOut,
    SettingsIn,
    SettingsLogIn,
    SettingsLogOut,
    SettingsOut,
    SettingsSaid,
)
from recollect.wire.written import (
    SecretOut,
    WrittenOut,
)

__all__ = [
    "KINDS",
    "ChangesIn",
    "DraftIn",
    "EmbeddingOut",
    "EpisodesIn",
    "ExplanationOut",
    "ForgottenOut",
    "HealthOut",
    "HitOut",
    "LegPlaceOut",
    "LegReportOut",
    "ListIn",
    "MemoryOut",
    "ObstacleOut",
    "PageOut",
    "Problem",
    "RecallIn",
    "RecollectionOut",
    "ScopeIn",
    "SecretOut",
    "SettingChangeOut",
    "SettingsIn",
    "SettingsLogIn",
    "SettingsLogOut",
    "SettingsOut",
    "SettingsSaid",
    "StatsOut",
    "WhyIn",
    "WhyLegOut",
    "WhyOut",
    "WrittenOut",
]
