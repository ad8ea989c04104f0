"""Language models that read an exchange: any OpenAI-compatible endpoint, or a command.

Both are off unless named. Where text may go is decided as for every other model (core/egress.py);
a text that holds a credential goes to no other machine at all.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import httpx

from recollect.core.capture import Statement
from recollect.core.capture_answers import INSTRUCTION, believed, material
from recollect.core.egress import Egress, is_loopback, require_allowed, require_private
from recollect.core.errors import ModelUnavailable
from recollect.core.secrets import looks_sensitive

SECONDS: Final = 60.0
_MAX_ANSWER: Final = 200_000
# An agent's own command runs hooks, too: this tells them that nobody is there.
CAPTURING: Final = "RECOLLECT_CAPTURING"


async def ask_endpoint(
    said: Sequence[str], *, url: str, model: str, key: str | None, egress: Egress
) -> list[Statement]:
    """What a model behind `/chat/completions` makes of an exchange; ModelUnavailable if nothing."""
    address = url.strip().rstrip("/")
    require_allowed(address, egress)
    if key:
        require_private(address)
    if not is_loopback(address) and looks_sensitive("\n".join(said)) is not None:
        return []
    body = {
        "model": model,
        "temperature": 0,
        "messages": [
            {"role": "system", "content": INSTRUCTION},
            {"role": "user", "content": material(said)},
        ],
    }
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with httpx.AsyncClient(
            timeout=SECONDS,
            follow_redirects=False,
            trust_env=not is_loopback(address),
            verify=address.startswith("https:"),
        ) as client:
            response = await client.post(f"{address}/chat/completions", json=body, headers=headers)
            response.raise_for_status()
            answer = response.json()["choices"][0]["message"]["content"]
    except (httpx.HTTPError, ValueError, KeyError, IndexError, TypeError) as error:
        raise _unavailable("RECOLLECT_CAPTURE_URL", error) from error
    return believed(answer, said) if isinstance(answer, str) else []


async def ask_command(said: Sequence[str], *, command: str) -> list[Statement]:
    """What a command that reads a prompt from stdin makes of an exchange."""
    prompt = f"{INSTRUCTION}\n\n{material(said)}\n"
    try:
        process = await asyncio.create_subprocess_exec(
            *shlex.split(command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, CAPTURING: "1"},
        )
    except (OSError, ValueError, TypeError) as error:
        raise _unavailable("RECOLLECT_CAPTURE_COMMAND", error) from error
    try:
        async with asyncio.timeout(SECONDS):
            out, _ = await process.communicate(prompt.encode())
    except TimeoutError as error:
        raise _unavailable("RECOLLECT_CAPTURE_COMMAND", error) from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return believed(out[:_MAX_ANSWER].decode("utf-8", "replace"), said)


def _unavailable(setting: str, error: Exception) -> ModelUnavailable:
    return ModelUnavailable(
        f"the model that captures did not answer ({type(error).__name__})",
        remedy=f"Check {setting}; until then the rules alone decide what is kept.",
    )
