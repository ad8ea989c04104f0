"""The use cases bound to one owner: a memory's whole life, and no other owner's memories."""

from __future__ import annotations

import re
from inspect import iscoroutinefunction, signature
from pathlib import Path
from uuid import UUID

import pytest
from tests.strategies import MOMENT

import recollect
from recollect.core.admin.stats import Stats
from recollect.core.errors import Forbidden, NotFound
from recollect.core.memory.memory import EVERYWHERE, Draft
from recollect.core.privacy.keys import ROLES, Key, Role
from recollect.core.privacy.policy import POLICIES
from recollect.core.recall.request import RecallRequest
from recollect.core.recall.settings import RecallSettings
from recollect.ports.service import Service
from recollect.usecases.admin.access import Access
from recollect.usecases.context import Context
from recollect.usecases.service import LocalService

pytestmark = pytest.mark.anyio

OPERATIONS = {
    name: method
    for name, method in vars(LocalService).items()
    if iscoroutinefunction(method) and not name.startswith("_")
}


async def test_a_memorys_life(context: Context) -> None:
    mine: Service = LocalService(context, "me")
    yours: Service = LocalService(context, "you")
    theirs = await yours.remember(Draft("staging belongs to you"))

    stored = await mine.remember(Draft("staging is frozen", project="web"))
    assert await mine.get(str(stored.id)) == stored
    changed = await mine.update(str(stored.id), {"is_sensitive": True}, based_on=1)
    assert [hit.memory for hit in (await mine.recall(RecallRequest("staging"))).hits] == [changed]
    assert (await mine.page(EVERYWHERE, None, 10)).memories == (changed,)
    assert await mine.stats() == Stats(1, 0, 1, {"fact": 1}, {"web": 1}, by_language={"en": 1})
    assert await mine.forget(str(stored.id)) == stored.id
    assert await mine.stats() == Stats(0, 1, 0)
    assert await mine.forget(str(stored.id), forever=True) == stored.id
    assert await mine.stats() == Stats(0, 0, 0)

    with pytest.raises(NotFound):
        await mine.get(str(theirs.id))
    assert await yours.get(str(theirs.id)) == theirs


async def test_settings_are_shared_by_all_owners(context: Context) -> None:
    changed = await LocalService(context, "me").change_settings({"rrf_k": 10})
    assert changed == RecallSettings(rrf_k=10)
    assert await LocalService(context, "you").settings() == changed


class Asked(Exception):
    """The operation that asked for a context."""


class Asking(LocalService):
    def context_for(self, operation: str, writes: int | None = None) -> Context:
        raise Asked(operation)


@pytest.mark.parametrize("name", OPERATIONS)
async def test_an_operation_reaches_nothing_before_its_own_policy_is_checked(
    context: Context, name: str
) -> None:
    given = [
        "" for each in signature(OPERATIONS[name]).parameters.values() if each.default is each.empty
    ]
    with pytest.raises(Asked, match=f"^{name}$"):
        await OPERATIONS[name](Asking(context, "me"), *given[1:])


def test_every_operation_has_a_policy_and_every_policy_an_operation() -> None:
    port = {name for name, each in vars(Service).items() if iscoroutinefunction(each)}
    assert len(port) > 20
    assert port <= {*OPERATIONS}
    source = "".join(path.read_text() for path in Path(recollect.__path__[0]).rglob("*.py"))
    assert {*re.findall(r'(?:context_for|needs)\(\s*"(\w+)"', source)} == {*POLICIES}


def key(role: Role, project: str | None = None) -> Key:
    return Key(UUID(int=1), "me", b"", "", MOMENT, role, project)


@pytest.mark.parametrize("role", ROLES)
def test_a_key_gets_what_its_role_allows(context: Context, role: Role) -> None:
    spent: list[int] = []
    mine = LocalService(context, "me", access=Access(key(role), spent.append))
    for operation, policy in POLICIES.items():
        spent.clear()
        if ROLES.index(role) < ROLES.index(policy.role):
            with pytest.raises(Forbidden, match=f"role {policy.role}"):
                mine.context_for(operation)
            assert spent == []
        else:
            assert mine.context_for(operation) is context
            assert spent == [policy.writes]


def test_a_key_of_a_project_gets_nothing_that_spans_projects(context: Context) -> None:
    mine = LocalService(context, "me", access=Access(key("member", "shop"), lambda _: None))
    for operation, policy in POLICIES.items():
        if policy.spans_projects:
            with pytest.raises(Forbidden, match="covers all projects"):
                mine.context_for(operation)


def test_an_operation_without_a_policy_is_refused(context: Context) -> None:
    mine = LocalService(context, "me", access=Access(key("admin"), lambda _: None))
    with pytest.raises(KeyError):
        mine.context_for("delete_everything")
