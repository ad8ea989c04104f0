"""What a hook works with. Each part is imported when it is opened, since a hook has no time for
unused imports, and the log is opened before anything else is imported (ADR 0020).
"""

from __future__ import annotations

from recollect.adapters.files.hook_log import HookLog
from recollect.adapters.resident import socket_path
from recollect.defaults import home_path

TYPE_CHECKING = False  # `typing` itself takes too long here
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from recollect.adapters.files.hook_files import HookFiles
    from recollect.adapters.resident.client import Question as Question
    from recollect.core.agents.capture import Statement
    from recollect.settings import Settings

# A healthy process that holds the model reads a question at once.
_SEND_SECONDS = 0.02


def open_hook_log(environ: Mapping[str, str]) -> HookLog:
    """Open the hook log of this environment's home."""
    return HookLog(f"{home_path(environ)}/hooks")


def ask_session(environ: Mapping[str, str], call: bytes, seconds: float) -> Question | None:
    """Send a hook's call to the process that holds the model of this environment's home. Return
    None if there is no such process, or the hook recalls by words only.
    """
    import os

    home = home_path(environ)
    if environ.get("RECOLLECT_EMBEDDER") == "none" or not os.path.exists(socket_path(home)):  # noqa: PTH110  # imports nothing
        return None
    from recollect.adapters.resident.client import send_question

    return send_question(home, call, min(_SEND_SECONDS, seconds))


def open_hook_files(environ: Mapping[str, str]) -> HookFiles:
    """Open the state that the hooks of this environment's home keep between calls."""
    from pathlib import Path

    from recollect.adapters.files.hook_files import HookFiles

    return HookFiles(Path(home_path(environ)) / "hooks")


def note_recalls(settings: Settings, ids: Sequence[UUID]) -> None:
    """Record which memories were shown, for an audit. A server records this itself."""
    if not settings.has_local_store:
        return
    import time

    from recollect.adapters.sqlite.history.recall_writes import write_recalls

    write_recalls(settings.sqlite_path, settings.owner, ids, time.time_ns() // 1000)


async def extract_statements(messages: list[str], settings: Settings) -> list[Statement]:
    """Return what the configured language model, or command, finds worth remembering."""
    from recollect.adapters.models.language_model import extract
    from recollect.core.errors import InvalidInput
    from recollect.core.retry import CAPTURE_RETRIES
    from recollect.wiring.context import build_language_model

    model = build_language_model(settings, CAPTURE_RETRIES)
    if model is None:
        raise InvalidInput(
            "RECOLLECT_CAPTURE=llm needs a language model, and none is set",
            field="RECOLLECT_LLM_URL",
            remedy="Set RECOLLECT_LLM_URL or RECOLLECT_LLM_COMMAND, or unset RECOLLECT_CAPTURE.",
        )
    return await extract(model, messages)
