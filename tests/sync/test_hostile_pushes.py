"""Whatever a client sends, the server accepts it or says why not, and keeps running."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import scaled
from tests.serving import Running
from tests.strategies import any_text, new_id

from recollect.core.sync.model import PROTOCOL, SYNCED

texts = any_text | st.just("a\x00b")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
ids = st.builds(lambda: str(new_id())) | st.just(str(uuid4())) | texts
moments = st.sampled_from(["2026-11-15T09:30:00Z", "0001-01-01T00:00:00+14:00", "soon", None])
good = st.fixed_dictionaries({"content": st.just("x" * 9_000) | st.text("ab", min_size=1)})
fields = good | st.dictionaries(st.sampled_from([*SYNCED]) | texts, values, max_size=5) | st.none()
numbers = st.integers(-1, 3) | st.integers(2**31 - 3, 2**63)
writes = st.fixed_dictionaries(
    {
        "id": ids,
        "edit": ids,
        "based_on": numbers,
        "version": numbers,
        "fields": fields,
        "created_at": moments,
        "updated_at": moments,
    }
)
revisions = st.fixed_dictionaries(
    {"id": ids, "memory_id": ids, "kind": texts, "fields": fields, "made_at": moments}
)


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[httpx.Client]:
    with server.client(server.new_key("hostile")) as client:
        yield client


@given(memories=st.lists(writes, max_size=2), pushed_revisions=st.lists(revisions, max_size=2))
@settings(max_examples=scaled(60), deadline=None, suppress_health_check=list(HealthCheck))
def test_no_push_breaks_the_server(
    client: httpx.Client, memories: object, pushed_revisions: object
) -> None:
    body = {"protocol": PROTOCOL, "store": str(uuid4()), "memories": memories}
    answer = client.post("sync/push", content=_ascii({**body, "revisions": pushed_revisions}))
    assert answer.status_code in (200, 400, 422), answer.text
    page = client.get("sync/pull", params={"protocol": PROTOCOL, "store": str(uuid4())})
    assert page.status_code == 200, page.text


def _ascii(value: object) -> bytes:
    return json.dumps(value).encode("ascii")
