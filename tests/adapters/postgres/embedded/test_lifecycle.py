"""Who starts the server, who joins it, who stops it: the last user stops it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import psycopg
import pytest
from psycopg import pq
from tests.waiting import wait_until

from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.adapters.postgres.embedded.cluster import ping_server
from recollect.adapters.postgres.embedded.locations import find_postmaster

Embed = Callable[..., EmbeddedPostgres]
Spawn = Callable[[], subprocess.Popen[str]]


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_the_last_user_stops_the_server(embed: Embed) -> None:
    first, second = embed(), embed()
    data = first.folder / "data"
    url = first.start()
    server = find_postmaster(data)
    assert second.start() == url
    assert find_postmaster(data) == server
    first.stop()
    with psycopg.connect(url):
        assert find_postmaster(data) == server
    second.stop()
    assert find_postmaster(data) is None
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)


def test_start_and_stop_may_be_repeated(embed: Embed) -> None:
    embedded = embed()
    assert embedded.start() == embedded.start()
    embedded.stop()
    embedded.stop()
    with embedded as url, psycopg.connect(url) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_what_was_stored_is_there_after_a_restart(embed: Embed) -> None:
    with embed() as url, psycopg.connect(url) as connection:
        connection.execute("create table kept as select 'staging is read-only on Fridays' as fact")
    with embed() as url, psycopg.connect(url) as connection:
        assert connection.execute("select fact from kept").fetchone() == (
            "staging is read-only on Fridays",
        )


def test_an_open_connection_does_not_hold_up_the_stop(
    embed: Embed,
) -> None:
    embedded = embed()
    idle = psycopg.connect(embedded.start())
    idle.execute("select 1")
    embedded.stop()
    assert find_postmaster(embedded.folder / "data") is None
    idle.close()


@pytest.mark.parametrize(
    ("ping", "asked"), [(pq.Ping.OK, "fast"), (pq.Ping.REJECT, "immediate")], ids=str
)
def test_a_server_that_recovers_is_not_asked_to_end_in_order(
    embed: Embed, ping: pq.Ping, asked: str
) -> None:
    """It could wait for ever, and has nothing to lose."""
    answers: list[pq.Ping] = []
    embedded = embed(ping=lambda sockets: answers[0] if answers else ping_server(sockets))
    with embedded as url, psycopg.connect(url) as connection:
        connection.execute("create table kept as select 1 as fact")
        connection.commit()
        answers.append(ping)

    def logs() -> str:
        return "".join(path.read_text() for path in (embedded.folder / "log").iterdir())

    wait_until(lambda: f"received {asked} shutdown request" in logs())
    with embed() as url, psycopg.connect(url) as connection:
        assert connection.execute("select fact from kept").fetchone() == (1,)


def test_a_failing_user_leaves_too(embed: Embed) -> None:
    embedded = embed()
    with pytest.raises(ZeroDivisionError), embedded:
        1 / 0  # noqa: B018
    assert find_postmaster(embedded.folder / "data") is None


def test_a_server_whose_user_was_killed_is_joined_and_stopped(
    embed: Embed, spawn_user: Spawn
) -> None:
    killed = spawn_user()
    url = first_line(killed)
    embedded = embed()
    server = find_postmaster(embedded.folder / "data")
    killed.kill()
    killed.wait()
    assert find_postmaster(embedded.folder / "data") == server
    assert embedded.start() == url
    assert find_postmaster(embedded.folder / "data") == server
    embedded.stop()
    assert find_postmaster(embedded.folder / "data") is None


def test_another_process_keeps_the_server_alive(embed: Embed, spawn_user: Spawn) -> None:
    other = spawn_user()
    url = first_line(other)
    embedded = embed()
    assert embedded.start() == url
    embedded.stop()
    with psycopg.connect(url) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    other.communicate()
    assert other.returncode == 0
    assert find_postmaster(embedded.folder / "data") is None


def test_processes_that_start_a_new_home_at_once_share_one_server(
    embed: Embed, spawn_user: Spawn
) -> None:
    users = [spawn_user() for _ in range(4)]
    urls = {first_line(user) for user in users}
    assert len(urls) == 1
    with psycopg.connect(urls.pop()) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    for user in users:
        user.communicate()
    assert [user.returncode for user in users] == [0] * 4
    assert find_postmaster(embed().folder / "data") is None
