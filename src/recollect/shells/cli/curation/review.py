"""The commands that show proposals, decide on them, and undo acceptances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

from recollect.core.curation.pairs import KINDS
from recollect.core.errors import InvalidInput, RecollectError
from recollect.core.memory.ids import short, short_ids
from recollect.settings import load
from recollect.shells.cli.framework.commands import Argument, Option
from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.output import note, one_line, print_json, show
from recollect.shells.cli.framework.shell import ask, prompt

if TYPE_CHECKING:
    from recollect.core.curation.pairs import Kind
    from recollect.core.curation.proposals import JournalEntry, Proposal, Survivor, Verdict

_CHOICES: Final = "[a]ccept, keep the [o]lder, [r]eject, [l]ater, [q]uit"


def proposals(*, as_json: AsJson = False) -> None:
    """List the curator's proposals that wait for a decision."""
    found = ask(lambda recollect: recollect.proposals())
    if as_json:
        from recollect.wire.curation import PROPOSALS

        print_json(PROPOSALS.encode(found))
        return
    if not found:
        note(_explain_no_proposals())
    ids = short_ids(proposal.id for proposal in found)
    for proposal in found:
        show(f"{ids[proposal.id]}  {_describe(proposal)}")


def review(
    *,
    accept_all: Annotated[
        str | None,
        Option("--accept-all", help=f"Accept all proposals of a kind: {', '.join(KINDS)}."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decide about the curator's proposals, one after the other."""
    if accept_all is not None:
        _accept_all(_check_kind(accept_all), as_json=as_json)
        return
    if as_json:
        raise InvalidInput(
            "a review asks for each decision",
            field="--json",
            remedy="Use `recollect proposals --json`, or `recollect review --accept-all KIND`.",
        )
    found = ask(lambda recollect: recollect.proposals())
    if not found:
        note(_explain_no_proposals())
    for number, proposal in enumerate(found, start=1):
        show(f"{number} of {len(found)}: {_describe(proposal)}")
        if not _decide(proposal):
            return


def undo(
    id: Annotated[
        str | None,
        Argument(metavar="ID", help="The acceptance or its proposal (default: the last one)."),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Revert an accepted proposal. Later edits of the memory are kept."""
    entry = ask(lambda recollect: recollect.undo(id))
    if as_json:
        from recollect.wire.curation import JOURNAL_ENTRY

        print_json(JOURNAL_ENTRY.encode(entry))
        return
    show(f"undone: {short(entry.survivor)} no longer supersedes {short(entry.superseded)}")


def _decide(proposal: Proposal) -> bool:
    """Ask for one decision and carry it out. Return False to stop the review."""
    while True:
        answer = prompt(_CHOICES)
        if answer is None or answer[:1].lower() == "q":
            return False
        carry_out = _DECISIONS.get(answer[:1].lower())
        if carry_out is None:
            continue
        try:
            carry_out(proposal)
        except RecollectError as error:  # the others can still be decided
            note(f"{error}\n→ {error.remedy}")
        return True


def _accept(proposal: Proposal, keep: Survivor) -> None:
    _report([ask(lambda recollect: recollect.accept_proposal(str(proposal.id), keep))])


def _decide_without_change(proposal: Proposal, verdict: Verdict) -> None:
    ask(lambda recollect: recollect.decide_proposal(str(proposal.id), verdict))


_DECISIONS: Final[Mapping[str, Callable[[Proposal], None]]] = {
    "a": lambda proposal: _accept(proposal, "newer"),
    "o": lambda proposal: _accept(proposal, "older"),
    "r": lambda proposal: _decide_without_change(proposal, "rejected"),
    "l": lambda proposal: _decide_without_change(proposal, "later"),
}


def _accept_all(kind: Kind, *, as_json: bool) -> None:
    from recollect.usecases.curation.review import accept_all

    accepted = ask(lambda recollect: accept_all(recollect, kind))
    if as_json:
        from recollect.wire.curation import JOURNAL

        print_json(JOURNAL.encode(accepted))
        return
    _report(accepted)


def _report(entries: Sequence[JournalEntry]) -> None:
    if not entries:
        note(_explain_no_proposals())
    for entry in entries:
        show(
            f"accepted: {short(entry.survivor)} supersedes {short(entry.superseded)}; "
            f"to revert: recollect undo {entry.id}"
        )


def _explain_no_proposals() -> str:
    settings = load()
    if settings.api_url is not None:
        return "no proposals. The server makes them if its RECOLLECT_CURATION is propose or apply."
    if settings.curation == "off":
        return "no proposals: curation is off. Set RECOLLECT_CURATION=propose to turn it on."
    return "no proposals. `recollect mcp` and `recollect worker --local` examine new memories."


def _describe(proposal: Proposal) -> str:
    kind = proposal.kind.replace("_", " ")
    return (
        f"{kind} ({proposal.confidence:.2f}, {one_line(proposal.reason)})\n"
        f"  newer {short(proposal.newer)}: {one_line(proposal.newer_quote)}\n"
        f"  older {short(proposal.older)}: {one_line(proposal.older_quote)}"
    )


def _check_kind(kind: str) -> Kind:
    for known in KINDS:
        if kind == known:
            return known
    raise InvalidInput(
        f"unknown kind of proposal {kind[:40]!r}",
        field="--accept-all",
        remedy=f"Choose one of: {', '.join(KINDS)}.",
    )
