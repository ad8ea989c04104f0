"""The erasure of all that an owner has, as it is asked for and reported."""

from __future__ import annotations

from pydantic import ConfigDict

from recollect.core.erasure import Erased, ErasureReport, Remain
from recollect.wire.values import Input, Name, Shape


class EraseIn(Input):
    """Whose memories: the owner of the key, named so that nobody erases by mistake."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"owner": "ada"}]})

    owner: Name


class RemainOut(Shape):
    """A place where something was found that should be gone."""

    where: str
    what: str
    count: int


class ErasedOut(Shape):
    """How much was erased; `told`: ids that stay until synced clients have heard of it; `keys` of
    the owner that still work; where was searched, and what remains. `unsearched`: where bytes stay
    although no query finds them, and what the operator does about it.
    """

    owner: str
    memories: int
    told: int
    keys: int
    searched: list[str]
    remains: list[RemainOut]
    unsearched: str

    @classmethod
    def from_report(cls, report: ErasureReport) -> ErasedOut:
        return cls(
            owner=report.owner,
            memories=report.erased.memories,
            told=report.erased.told,
            keys=report.erased.keys,
            searched=[*report.searched],
            remains=[
                RemainOut(where=one.where, what=one.what, count=one.count) for one in report.remains
            ],
            unsearched=report.unsearched,
        )

    def to_report(self) -> ErasureReport:
        return ErasureReport(
            self.owner,
            Erased(self.memories, self.told, self.keys),
            tuple(self.searched),
            tuple(Remain(one.where, one.what, one.count) for one in self.remains),
            self.unsearched,
        )
