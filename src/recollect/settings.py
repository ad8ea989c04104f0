"""The settings of a process, read from the environment in this one place.

Settings that can change while Recollect runs are in `core/recall/settings.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from recollect.core.admin.modes import CurationMode, GraphMode, Mode
from recollect.core.admin.variables import Field, SecretStr, Unusable, read
from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import MAX_CONTENT_LIMIT, Limits, check_owner
from recollect.core.privacy.egress import Egress
from recollect.core.recall.relevance import Measure
from recollect.defaults import HOOK_BUDGET_MS, HOOK_START_MS, home_path

if TYPE_CHECKING:
    from recollect.core.admin.timeouts import Timeouts

DEFAULT_PORT = 8420


@dataclass(frozen=True, eq=False, repr=False)
class Settings:
    """Each field is read from the variable RECOLLECT_<NAME>. Every command and every hook creates
    this class, so the methods that a dataclass generates and no one needs are turned off.
    """

    home: Path = Field(default_factory=lambda: Path(home_path(os.environ)))
    owner: str = "me"
    max_content: int = Field(default=Limits().content, ge=1, le=MAX_CONTENT_LIMIT)

    api_url: str | None = None
    api_key: SecretStr | None = None
    sync: Literal["on", "off"] = "on"
    sync_interval: float = Field(default=60.0, ge=0.1, le=86_400)
    sync_sensitive: bool = False
    timeout_factor: float = Field(default=1.0, ge=1.0, le=1_000)

    database_url: SecretStr | None = None
    postgres_account: str = "nobody"
    vectors: Literal["pgvector", "qdrant"] = "pgvector"
    qdrant_url: str | None = None
    qdrant_api_key: SecretStr | None = None
    qdrant_quantization: Literal["off", "scalar", "binary"] = "off"

    host: str = "127.0.0.1"
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65_535)
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    max_connections: int = Field(default=1_000, ge=1, le=1_000_000)
    max_connections_per_address: int = Field(default=100, ge=1, le=1_000_000)
    header_timeout: float = Field(default=10.0, ge=0.01, le=3_600)
    body_timeout: float = Field(default=30.0, ge=0.01, le=3_600)
    body_memory_mb: int = Field(default=64, ge=4, le=1_000_000)
    concurrency: int | None = Field(default=None, ge=1, le=1_000)
    writes_per_minute: int | None = Field(default=None, ge=1, le=10_000_000)
    access_log: Literal["on", "off"] = "on"
    otlp_endpoint: str | None = Field(None, also="OTEL_EXPORTER_OTLP_ENDPOINT")
    answer_within: float = Field(default=2.0, ge=0.01, le=3_600)
    drain_seconds: float = Field(default=0.0, ge=0, le=600)

    embedder: str = Field(default="minilm", min_length=1)
    models: Path | None = None
    reranker: str | None = None
    worker: Literal["inside", "off"] = "inside"
    egress: Egress = "local"
    voyage_api_key: SecretStr | None = Field(None, also="VOYAGE_API_KEY")
    voyage_url: str | None = None
    openai_api_key: SecretStr | None = Field(None, also="OPENAI_API_KEY")
    openai_url: str | None = None
    cohere_api_key: SecretStr | None = Field(None, also="COHERE_API_KEY")
    cohere_url: str | None = None
    compatible_api_key: SecretStr | None = None
    compatible_url: str | None = None

    llm_url: str | None = None
    llm_model: str = "default"
    llm_api_key: SecretStr | None = None
    llm_command: str | None = None

    curation: CurationMode = "propose"
    curation_confidence: float = Field(default=0.8, ge=0, le=1)
    curation_calls: int = Field(default=0, ge=0, le=10_000_000)
    graph: GraphMode = "rules"
    graph_llm_calls: int = Field(default=1_000, ge=0, le=10_000_000)
    mcp_sensitive: Literal["by-id", "show"] = "by-id"
    # `project` and `hook_start_ms` are only validated here: what uses them reads the variables
    # without the settings (wiring/project.py, shells/hooks/watchdog.py).
    project: str | None = None
    hook_budget_ms: int = Field(default=HOOK_BUDGET_MS, ge=50, le=60_000)
    hook_start_ms: int = Field(default=HOOK_START_MS, ge=50, le=60_000)
    hook_tokens: int = Field(default=Measure().tokens, ge=100, le=2_500)
    hook_floor: float = Field(default=Measure().floor, ge=0, le=1_000)
    hook_meaning_floor: float = Field(default=Measure().meaning_floor, ge=0, le=2)
    capture: Literal["on", "llm", "off"] = "on"
    capture_daily: int = Field(default=50, ge=0, le=100_000)

    def __post_init__(self) -> None:
        check_owner(self.owner, field="RECOLLECT_OWNER")
        # The same folder wherever a command runs, and for both stores.
        object.__setattr__(self, "home", self.home.expanduser().absolute())
        if self.trusted_proxies:
            _check_networks(self.trusted_proxies)

    @property
    def mode(self) -> Mode:
        """Where memories are: local, local with a server behind, or only on the server."""
        if self.api_url is None:
            return "local"
        return "cached" if self.sync == "on" else "remote"

    def require_api_key(self) -> str:
        """Return the key of the server; raise InvalidInput if there is none."""
        if self.api_key is None:
            raise InvalidInput(
                "RECOLLECT_API_URL names a server, but there is no key for it",
                field="RECOLLECT_API_KEY",
                remedy="Set RECOLLECT_API_KEY to the key that the server showed when it was "
                "created.",
            )
        return self.api_key.get_secret_value()

    @property
    def slots(self) -> int:
        """How many requests a server works on at once. More than a few per core would only take
        turns and wait for one of the twelve connections to Postgres.
        """
        return self.concurrency or min(4 * (os.cpu_count() or 1), 12)

    @property
    def limits(self) -> Limits:
        return Limits(content=self.max_content)

    @property
    def timeouts(self) -> Timeouts:
        from recollect.core.admin.timeouts import TIMEOUTS

        return TIMEOUTS.scaled(self.timeout_factor)

    @property
    def measure(self) -> Measure:
        """What a hook may inject."""
        return Measure(self.hook_tokens, self.hook_floor, self.hook_meaning_floor)

    @property
    def models_folder(self) -> Path:
        return self.models.expanduser().absolute() if self.models else self.home / "models"

    @property
    def has_local_store(self) -> bool:
        return self.mode != "remote"

    @property
    def sqlite_path(self) -> Path:
        """The local store. In remote mode there is none: an existing file contains old memories
        that this process must not touch.
        """
        if not self.has_local_store:
            raise InvalidInput(
                "the memories are on a server, and the local store is not used",
                field="RECOLLECT_SYNC",
                remedy="Unset RECOLLECT_SYNC to keep a local copy, or unset RECOLLECT_API_URL to "
                "use only the local store.",
            )
        return self.home / "memories.db"

    @property
    def erasures_folder(self) -> Path:
        return self.home / "erasures"


def _check_networks(values: tuple[str, ...]) -> None:
    from ipaddress import ip_network

    for value in values:
        try:
            ip_network(value)
        except ValueError as error:
            raise Unusable("trusted_proxies", str(error)) from error


def load(environ: Mapping[str, str] = os.environ, /, **overrides: object) -> Settings:
    """Load the settings of this process; InvalidInput names the variable that is invalid."""
    try:
        return read(Settings, "RECOLLECT_", environ, overrides)
    except Unusable as error:
        name = f"RECOLLECT_{error.name.upper()}"
        raise InvalidInput(
            f"{name} is invalid: {error}",
            field=name,
            remedy=f"Fix {name} in the environment, or unset it to use the default.",
        ) from error
