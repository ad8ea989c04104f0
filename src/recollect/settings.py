"""The settings of a process: read once, from the environment, by wiring alone.

What can change while Recollect runs is not here but in `core/recall_settings.py`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from recollect.core.errors import InvalidInput
from recollect.core.memory import MAX_CONTENT_LIMIT, Limits

DEFAULT_PORT = 8420


def default_home() -> Path:
    """The user's data directory, as the XDG base directory specification places it."""
    data = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return base / "recollect"


class Settings(BaseSettings):
    """Each field is the environment variable RECOLLECT_<NAME>."""

    model_config = SettingsConfigDict(env_prefix="RECOLLECT_", env_ignore_empty=True)

    home: Path = Field(default_factory=default_home)
    owner: str = Field(default="me", min_length=1, max_length=200)
    max_content: int = Field(default=Limits().content, ge=1, le=MAX_CONTENT_LIMIT)

    api_url: str | None = None
    api_key: SecretStr | None = None

    database_url: SecretStr | None = None
    postgres_account: str = "nobody"

    host: str = "127.0.0.1"
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65_535)
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(name for part in value.split(",") if (name := part.strip()))

    @property
    def limits(self) -> Limits:
        return Limits(content=self.max_content)

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
