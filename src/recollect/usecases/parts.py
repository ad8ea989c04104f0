"""The parts that wiring hands to the use cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from recollect.core.memory import Limits
from recollect.core.recall import LegName
from recollect.ports import Clock, Leg, MemoryStore, SettingsStore


@dataclass(frozen=True, slots=True)
class Parts:
    """`legs` holds the legs this store can run; one that is missing is reported as absent."""

    store: MemoryStore
    settings: SettingsStore
    clock: Clock
    legs: Mapping[LegName, Leg]
    limits: Limits = field(default_factory=Limits)
