"""The settings of a process, read from the environment in this one place.

What can change while Recollect runs is not here but in `core/recall_settings.py`.
"""

from __future__ import annotations

import os
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from recollect.core.egress import Egress
from recollect.core.errors import InvalidInput
from recollect.core.graph import GraphMode
from recollect.core.memory import MAX_CONTENT_LIMIT, Limits
from recollect.core.owner import check_owner
from recollect.core.sync import Mode
from recollect.usecases.inject import Measure

DEFAULT_PORT = 8420


def default_home() -> Path:
    """The user's data directory, as the XDG base directory specification places it."""
    data = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return base / "recollect"


def _also(name: str) -> AliasChoices:
    """Our variable, else the one that the provider's own tools read."""
    return AliasChoices(f"RECOLLECT_{name}", name)


class Settings(BaseSettings):
    """Each field is the environment variable RECOLLECT_<NAME>."""

    model_config = SettingsConfigDict(
        env_prefix="RECOLLECT_", env_ignore_empty=True, populate_by_name=True
    )

    home: Path = Field(default_factory=default_home)
    owner: str = "me"
    max_content: int = Field(default=Limits().content, ge=1, le=MAX_CONTENT_LIMIT)

    api_url: str | None = None
    api_key: SecretStr | None = None
    sync: Literal["on", "off"] = "on"
    sync_interval: float = Field(default=60.0, ge=0.1, le=86_400)
    sync_sensitive: bool = False

    database_url: SecretStr | None = None
    postgres_account: str = "nobody"

    host: str = "127.0.0.1"
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65_535)
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = ()
    max_connections: int = Field(default=1_000, ge=1, le=1_000_000)
    max_connections_per_address: int = Field(default=100, ge=1, le=1_000_000)
    header_timeout: float = Field(default=10.0, ge=0.01, le=3_600)
    body_timeout: float = Field(default=30.0, ge=0.01, le=3_600)
    body_memory_mb: int = Field(default=64, ge=4, le=1_000_000)
    concurrency: int | None = Field(default=None, ge=1, le=1_000)
    writes_per_minute: int | None = Field(default=None, ge=1, le=10_000_000)
    access_log: Literal["on", "off"] = "on"
    answer_within: float = Field(default=2.0, ge=0.01, le=3_600)

    embedder: str = Field(default="minilm", min_length=1)
    models: Path | None = None
    reranker: str | None = None
    worker: Literal["inside", "off"] = "inside"
    egress: Egress = "local"
    fuser: Literal["python", "sql"] = "python"
    voyage_api_key: SecretStr | None = Field(None, validation_alias=_also("VOYAGE_API_KEY"))
    voyage_url: str | None = None
    openai_api_key: SecretStr | None = Field(None, validation_alias=_also("OPENAI_API_KEY"))
    openai_url: str | None = None
    cohere_api_key: SecretStr | None = Field(None, validation_alias=_also("COHERE_API_KEY"))
    cohere_url: str | None = None
    compatible_api_key: SecretStr | None = None
    compatible_url: str | None = None

    graph: GraphMode = "rules"
    graph_llm_url: str | None = None
    graph_llm_model: str | None = None
    graph_llm_api_key: SecretStr | None = None
    graph_llm_calls: int = Field(default=1_000, ge=0, le=10_000_000)
    project: str | None = None
    hook_budget_ms: int = Field(default=300, ge=50, le=60_000)
    hook_start_ms: int = Field(default=2_000, ge=50, le=60_000)
    hook_tokens: int = Field(default=Measure().tokens, ge=100, le=2_500)
    hook_floor: float = Field(default=Measure().floor, ge=0, le=1_000)
    hook_cosine_floor: float = Field(default=Measure().cosine_floor, ge=-1, le=2)
    capture: Literal["on", "off"] = "on"
    capture_daily: int = Field(default=50, ge=0, le=100_000)
    capture_url: str | None = None
    capture_model: str = "default"
    capture_api_key: SecretStr | None = None
    capture_command: str | None = None

    @field_validator("allowed_hosts", "trusted_proxies", mode="before")
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(name for part in value.split(",") if (name := part.strip()))

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for one in value:
            ip_network(one)
        return value

    @field_validator("owner")
    @classmethod
    def _somebody(cls, owner: str) -> str:
        check_owner(owner, field="RECOLLECT_OWNER")
        return owner

    @field_validator("home")
    @classmethod
    def _one_place(cls, home: Path) -> Path:
        """The same folder from wherever a command is run, and for both stores."""
        return home.expanduser().absolute()

    @property
    def mode(self) -> Mode:
        """Where memories are: here, here with a server behind, or on the server alone."""
        if self.api_url is None:
            return "local"
        return "cached" if self.sync == "on" else "remote"

    @property
    def slots(self) -> int:
        """How many requests a server works on at once. More than a few for each core only take
        turns, and each waits for one of twelve connections to Postgres.
        """
        return self.concurrency or min(4 * (os.cpu_count() or 1), 12)

    @property
    def limits(self) -> Limits:
        return Limits(content=self.max_content)

    @property
    def models_folder(self) -> Path:
        return self.models.expanduser().absolute() if self.models else self.home / "models"

    @property
    def sqlite_path(self) -> Path:
        return self.home / "memories.db"


def load(**overrides: object) -> Settings:
    """The settings of this process; InvalidInput names the variable that cannot be used."""
    try:
        return Settings(**overrides)  # type: ignore[arg-type]  # pydantic checks each value
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = "RECOLLECT_" + str(first["loc"][0] if first["loc"] else "settings").upper()
        raise InvalidInput(
            f"{name} cannot be used: {first['msg']}",
            field=name,
            remedy=f"Correct {name} in the environment, or unset it for the default.",
        ) from error
