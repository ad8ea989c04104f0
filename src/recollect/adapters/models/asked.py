"""Language models that are asked one thing at a time: any OpenAI-compatible endpoint, or a command.

Both are off unless configured. Where text may go is decided as for every other model
(core/privacy/egress.py); a command may send what it reads anywhere, so it counts as another
machine.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Final

from recollect.adapters.models.language_model import LanguageModel
from recollect.core.errors import ModelSlow, ModelUnavailable
from recollect.core.privacy.egress import Egress
from recollect.core.retry import RetryPolicy
from recollect.ports.language import AskedModel

SECONDS: Final = 60.0
_MAX_ANSWER: Final = 200_000
_REMEDY: Final = "Check RECOLLECT_LLM_COMMAND; until it works, the rules decide alone."
# An agent's own command runs hooks, too: this tells them that no one is there.
CAPTURING: Final = "RECOLLECT_CAPTURING"


class Endpoint:
    """A model behind `/chat/completions`."""

    def __init__(self, name: str, model: LanguageModel) -> None:
        self.name = name
        self._model = model

    @property
    def is_here(self) -> bool:
        return self._model.is_here

    async def ask(self, task: str, text: str, *, schema: Mapping[str, object] | None = None) -> str:
        async with self._model:
            return (await self._model.ask(task, text, schema=schema)).text


class Command:
    """A command that reads a prompt from stdin and prints the answer. Its name is that of the
    program: arguments may hold a key.
    """

    is_here = False

    def __init__(self, command: str, *, seconds: float = SECONDS) -> None:
        self._command = command
        self._seconds = seconds

    @property
    def name(self) -> str:
        program, *_ = (*self._command.split(), "command")
        return PurePath(program).name

    async def ask(
        self,
        task: str,
        text: str,
        *,
        schema: Mapping[str, object] | None = None,  # noqa: ARG002  # the task describes it
    ) -> str:
        prompt = f"{task}\n\n{text}\n"
        try:
            process = await asyncio.create_subprocess_exec(
                *shlex.split(self._command),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={**os.environ, CAPTURING: "1"},
            )
        except (OSError, ValueError, TypeError) as error:
            raise _unavailable(f"could not be started ({type(error).__name__})") from error
        try:
            async with asyncio.timeout(self._seconds):
                out, _ = await process.communicate(prompt.encode("utf-8", "replace"))
        except TimeoutError as error:
            reason = f"did not answer within {self._seconds:g} s"
            raise ModelSlow(_message(reason), remedy=_REMEDY) from error
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            raise _unavailable(f"ended with status {process.returncode}")
        return out[:_MAX_ANSWER].decode("utf-8", "replace")


def _unavailable(reason: str) -> ModelUnavailable:
    return ModelUnavailable(_message(reason), remedy=_REMEDY)


def _message(reason: str) -> str:
    return f"The command of RECOLLECT_LLM_COMMAND {reason}."


def choose_model(
    *,
    url: str | None,
    model: str,
    key: str | None,
    command: str | None,
    egress: Egress,
    retries: RetryPolicy,
) -> AskedModel | None:
    """The endpoint, or else the command; None if there is neither."""
    if url:
        return Endpoint(model, LanguageModel(url, model, egress=egress, key=key, retries=retries))
    return Command(command) if command else None
