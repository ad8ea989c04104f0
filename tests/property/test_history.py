"""Any history of adding, replacing, forgetting and erasing leaves what a dict would hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import ClassVar
from uuid import UUID, uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
    run_state_machine_as_test,
)
from tests.conformance.samples import memory
from tests.effort import scaled
from tests.property.conftest import OpenStore
from tests.strategies import MOMENT

from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.admin.stats import Stats
from recollect.core.errors import Conflict
from recollect.core.memory.memory import EVERYWHERE, Memory
from recollect.core.recall.settings import WordQuery

# Words that no stemmer changes and no stop word list holds.
WORDS = ("zulu", "kilo", "tango")
words = st.lists(st.sampled_from(WORDS), max_size=3)
contents = words.map(lambda found: " ".join(["memo", *found]))
tags = st.lists(st.sampled_from((*WORDS, "kilo tango")), max_size=2, unique=True).map(tuple)
projects = st.sampled_from([None, "alpha", "beta"])


class History(RuleBasedStateMachine):
    """Each run has an owner of its own, so that one store serves them all."""

    opened: ClassVar[OpenStore]
    stored: Bundle[UUID] = Bundle("stored")

    def __init__(self) -> None:
        super().__init__()
        self.store, self.wait = self.opened.store, self.opened.wait
        self.owner = str(uuid4())
        self.model: dict[UUID, Memory] = {}
        self.clock = count(1)

    def current(self) -> list[Memory]:
        return [memory for memory in self.model.values() if memory.deleted_at is None]

    @rule(target=stored, content=contents, tags=tags, project=projects, sensitive=st.booleans())
    def add(
        self, content: str, tags: tuple[str, ...], project: str | None, sensitive: bool
    ) -> UUID:
        at = MOMENT + timedelta(seconds=next(self.clock) // 2)
        new = memory(
            1,
            content,
            id=uuid4(),
            owner=self.owner,
            tags=tags,
            project=project,
            is_sensitive=sensitive,
            created_at=at,
            updated_at=at,
        )
        self.wait(self.store.add(new))
        self.model[new.id] = new
        return new.id

    @rule(id=stored, content=contents)
    def add_under_a_taken_id(self, id: UUID, content: str) -> None:
        with pytest.raises(Conflict):
            self.wait(self.store.add(memory(1, content, id=id, owner=self.owner)))

    @rule(id=stored, content=contents, tags=tags, importance=st.floats(0, 1))
    def change(self, id: UUID, content: str, tags: tuple[str, ...], importance: float) -> None:
        before = self.model[id]
        after = replace(
            before, content=content, tags=tags, importance=importance, version=before.version + 1
        )
        assert self.wait(self.store.replace(after, based_on=before.version))
        self.model[id] = after

    @rule(id=stored, content=contents, off=st.sampled_from([-1, 1]))
    def change_another_version(self, id: UUID, content: str, off: int) -> None:
        late = replace(self.model[id], content=content, version=99)
        assert not self.wait(self.store.replace(late, based_on=self.model[id].version + off))

    @rule(id=stored)
    def forget_or_bring_back(self, id: UUID) -> None:
        before = self.model[id]
        deleted_at = MOMENT if before.deleted_at is None else None
        after = replace(before, deleted_at=deleted_at, version=before.version + 1)
        assert self.wait(self.store.replace(after, based_on=before.version))
        self.model[id] = after

    @rule(id=consumes(stored))
    def erase(self, id: UUID) -> None:
        assert not self.wait(self.store.erase("somebody else", id))
        assert self.wait(self.store.erase(self.owner, id))
        assert not self.wait(self.store.erase(self.owner, id))
        del self.model[id]

    @invariant()
    def the_count_is_right(self) -> None:
        counted: Stats = self.wait(self.store.stats(self.owner))
        current = self.current()
        assert counted.memories == len(current)
        assert counted.forgotten == len(self.model) - len(current)
        assert counted.sensitive == sum(memory.is_sensitive for memory in current)
        assert sum(counted.by_category.values()) == len(current)

    @invariant()
    def the_listing_has_every_field_and_no_duplicate(self) -> None:
        listed = self.wait(self.store.page(self.owner, EVERYWHERE, None, 100))
        by_age = sorted(
            self.current(), key=lambda memory: (memory.created_at, memory.id), reverse=True
        )
        assert listed == by_age

    @invariant()
    def the_words_are_those_of_the_rows(self) -> None:
        for word in WORDS:
            query = WordQuery(word, depth=100)
            found = self.wait(self.store.search_words(self.owner, EVERYWHERE, query))
            holding = [memory.id for memory in self.current() if word in _words_of(memory)]
            assert sorted(candidate.id for candidate in found) == sorted(holding)

    def teardown(self) -> None:
        if isinstance(self.store, SqliteStore):
            check = "INSERT INTO memory_words (memory_words, rank) VALUES ('integrity-check', 1)"
            self.wait(self.store.threads.writer.run(lambda writer: writer.execute(check)))


def _words_of(memory: Memory) -> set[str]:
    return {*memory.content.split(), *" ".join(memory.tags).split()}


def test_store_matches_a_dict_after_any_history(opened: OpenStore) -> None:
    class HistoryOfThisStore(History):
        pass

    HistoryOfThisStore.opened = opened
    run_state_machine_as_test(
        HistoryOfThisStore,
        settings=settings(max_examples=scaled(10), stateful_step_count=20),
    )
