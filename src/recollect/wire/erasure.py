"""The request to erase an owner's data, and its report."""

from __future__ import annotations

from pydantic import ConfigDict

from recollect.core.privacy.erasure import Erased, ErasureReport, Remain
from recollect.wire.values import Input, Name, Shape


class EraseIn(Input):
    """Whose memories to erase: the owner of the key, named to prevent mistakes."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"owner": "ada"}]})

    owner: Name


class ErasedOut(Shape):
    """How much was erased; `notified`: ids kept until synced clients know; `keys` of the owner that
    still work; where was searched, and whether anything remains there. `unsearched`: where bytes
    remain although no query finds them, and what the operator can do about it.
    """

    owner: str
    memories: int
    notified: int
    keys: int
    searched: list[str]
    remains: bool
    unsearched: str

    @classmethod
    def from_report(cls, report: ErasureReport) -> ErasedOut:
        return cls(
            owner=report.owner,
            memories=report.erased.memories,
            notified=report.erased.notified,
            keys=report.erased.keys,
            searched=[*report.searched],
            remains=bool(report.remains),
            unsearched=report.unsearched,
        )

    def to_report(self) -> ErasureReport:
        return ErasureReport(
            self.owner,
            Erased(self.memories, self.notified, self.keys),
            tuple(self.searched),
            (Remain("the server's database", "ids, texts or words", 1),) if self.remains else (),
            self.unsearched,
        )
