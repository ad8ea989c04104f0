"""Have a language model read an exchange.

A message that contains a credential is sent to no other machine, nor to a command, which may send
it anywhere. What was pasted is sent nowhere: it is not what the person said.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.core.agents.capture import Statement
from recollect.core.agents.capture_answers import INSTRUCTION, material, parse_statements
from recollect.core.agents.pasted import without_pasted
from recollect.core.privacy.secrets.detect import looks_sensitive
from recollect.ports.language import AskedModel


async def extract(model: AskedModel, said: Sequence[str]) -> list[Statement]:
    """What the model finds worth keeping; ModelUnavailable if it does not answer."""
    allowed = [text for text in said if model.is_here or looks_sensitive(text) is None]
    own = [text for text in map(without_pasted, allowed) if text.strip()]
    if not own:
        return []
    return parse_statements(await model.ask(INSTRUCTION, material(own)), own)
