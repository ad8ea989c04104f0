"""Health and metrics: open to read, and silent about what is stored and by whom."""

from __future__ import annotations

import httpx
from tests.serving import Running
from tests.waiting import SECONDS

from recollect import __version__
from recollect.adapters.http.fast_recall import recall
from recollect.core.recall.request import RecallRequest


def test_health_needs_no_key(shared_server: Running) -> None:
    bodies = {"live": {"status": "ok"}, "ready": {"status": "ok", "lost_nodes": []}}
    for probe, body in bodies.items():
        answer = httpx.get(f"{shared_server.url}/api/v1/health/{probe}", timeout=SECONDS)
        assert (answer.status_code, answer.json()) == (200, body)


def test_metrics_count_requests_and_legs_by_template(own_server: Running) -> None:
    key = own_server.new_key("somebody")
    with own_server.client(key) as mine:
        id = mine.post("memories", json={"content": "a private matter"}).json()["id"]
        mine.get(f"memories/{id}")
        mine.get("nowhere/private")
        mine.request("BREW", "memories")
        mine.post("recall", json={"query": "private"})
    text = httpx.get(f"{own_server.url}/api/v1/metrics", timeout=SECONDS).text
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    def requests(method: str, route: str, status: int) -> str | None:
        labels = f'method="{method}",route="{route}",status="{status}"'
        return samples.get(f"recollect_http_request_seconds_count{{{labels}}}")

    assert requests("POST", "/api/v1/memories", 201) == "1.0"
    assert requests("GET", "/api/v1/memories/{reference}", 200) == "1.0"
    assert requests("GET", "unmatched", 404) == "1.0"
    assert requests("other", "/api/v1/memories", 405) == "1.0"
    assert samples["recollect_recall_seconds_count"] == "1.0"
    assert samples['recollect_recall_legs_total{leg="lexical",status="ran"}'] == "1.0"
    for secret in ("private", id, "somebody", key, "BREW"):
        assert secret not in text


def test_metrics_count_the_recalls_of_hooks(own_server: Running) -> None:
    recall(own_server.url, own_server.new_key(), RecallRequest("ships"), SECONDS)
    with own_server.client() as client:
        for waits in ("0", "60000", "soon"):
            body = {"query": "ships"} if waits != "60000" else {}
            client.post("recall", json=body, headers={"Recollect-Hook-Ms": waits})
    text = httpx.get(f"{own_server.url}/api/v1/metrics", timeout=SECONDS).text
    counts = {
        line.partition(" ")[0]: line.rpartition(" ")[2]
        for line in text.splitlines()
        if line.startswith("recollect_hook_recall_seconds_count")
    }
    name = "recollect_hook_recall_seconds_count"
    assert counts == {
        f'{name}{{outcome="{outcome}"}}': "1.0" for outcome in ("answered", "late", "failed")
    }


def test_stats_count_what_the_owner_has(mine: httpx.Client) -> None:
    for fields in ({"project": "p"}, {"category": "note"}, {"is_sensitive": True}):
        mine.post("memories", json={"content": f"something {fields}", **fields})
    found = mine.get("stats").json()
    assert found.pop("graph")["waiting"] == 2
    assert found == {
        "memories": 3,
        "forgotten": 0,
        "sensitive": 1,
        "former_names": {},
        "expiring": 0,
        "by_category": {"fact": 2, "note": 1},
        "by_project": {"p": 1},
        "by_language": {"en": 3},
        "embedding": None,
        "curation": None,
    }


def test_answers_are_not_cached_and_their_type_is_not_guessed(mine: httpx.Client) -> None:
    for answer in (mine.get("stats"), mine.get("nowhere")):
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_metrics_include_the_backlog_and_the_build(own_server: Running) -> None:
    with own_server.client() as mine:
        for text in ("the harbour", "the lighthouse"):
            mine.post("memories", json={"content": text})
    text = httpx.get(f"{own_server.url}/api/v1/metrics", timeout=SECONDS).text
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(samples['recollect_jobs{queue="graph",state="waiting"}']) >= 2
    assert samples['recollect_jobs{queue="graph",state="parked"}'] == "0.0"
    assert float(samples['recollect_database_connections{state="idle"}']) >= 1
    assert samples[f'recollect_build_info{{version="{__version__}"}}'] == "1.0"
    assert "recollect_memories" in samples
    assert float(samples["process_resident_memory_bytes"]) > 0
