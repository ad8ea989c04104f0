"""Language models that read an exchange: any OpenAI-compatible endpoint, or a command.

Both are off unless configured. Where text may go is decided as for every other model
(core/privacy/egress.py). A message that contains a credential is sent to no other machine, nor to a
command, which may send it anywhere.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from recollect.adapters.models.hosted.retries import RetryPolicy
from recollect.adapters.models.language_model import LanguageModel
from recollect.core.agents.capture import Statement
from recollect.core.agents.capture_answers import INSTRUCTION, believed, material
from recollect.core.errors import ModelUnavailable
from recollect.core.privacy.egress import Egress
from recollect.core.privacy.secrets.detect import looks_sensitive

SECONDS: Final = 60.0
# For everything together, since the capturing process ends after two minutes.
_RETRIES: Final = RetryPolicy(
    request_seconds=SECONDS, attempts=3, total_seconds=SECONDS, first_wait=1.0, longest_wait=10.0
)
_MAX_ANSWER: Final = 200_000
# An agent's own command runs hooks, too: this tells them that no one is there.
CAPTURING: Final = "RECOLLECT_CAPTURING"


async def ask_endpoint(
    said: Sequence[str], *, url: str, model: str, key: str | None, egress: Egress
) -> list[Statement]:
    """What a model behind `/chat/completions` extracts from an exchange; ModelUnavailable if it
    does not answer.
    """
    asked = LanguageModel(
        url, model, setting="RECOLLECT_CAPTURE", egress=egress, key=key, retries=_RETRIES
    )
    allowed = said if asked.is_here else _without_secrets(said)
    if not allowed:
        return []
    async with asked:
        reply = await asked.ask(INSTRUCTION, material(allowed))
    return believed(reply.text, allowed)


async def ask_command(said: Sequence[str], *, command: str) -> list[Statement]:
    """What a command that reads a prompt from stdin extracts from an exchange."""
    allowed = _without_secrets(said)
    if not allowed:
        return []
    prompt = f"{INSTRUCTION}\n\n{material(allowed)}\n"
    try:
        process = await asyncio.create_subprocess_exec(
            *shlex.split(command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, CAPTURING: "1"},
        )
    except (OSError, ValueError, TypeError) as error:
        raise _unavailable(error) from error
    try:
        async with asyncio.timeout(SECONDS):
            out, _ = await process.communicate(prompt.encode())
    except TimeoutError as error:
        raise _unavailable(error) from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return believed(out[:_MAX_ANSWER].decode("utf-8", "replace"), allowed)


def _without_secrets(said: Sequence[str]) -> list[str]:
    return [text for text in said if looks_sensitive(text) is None]


def _unavailable(error: Exception) -> ModelUnavailable:
    return ModelUnavailable(
        f"the capture command did not answer ({type(error).__name__})",
        remedy="Check RECOLLECT_CAPTURE_COMMAND; until it works, only the rules decide what "
        "is stored.",
    )
