"""Only turns of the same project are embedded with a turn.

A session was known by its owner and its name alone, and two projects may both have a session
"main": each had words of the other in its vectors. Vectors that hold such words are made anew. And
a turn that goes over to another session or project is now read with those it comes to, and those
that follow it there are read with it.
"""

from importlib import import_module
from typing import Any

from alembic import op

revision = "0009v"
down_revision = "0008v"
branch_labels = None
depends_on = None

# Behind a session that many projects have, the last two turns of one may lie thousands back. Not
# the project itself: `is not distinct from`, which a turn of no project needs, uses no index. No
# project has an empty name.
_TURNS = """
create index memories_turns
on memories (owner, session, coalesce(project, ''), created_at desc, id desc)
where category = 'episode' and deleted_at is null
"""

# As before (0007v) in its locks and in what it takes away. New is who comes to be read together:
# a turn that moved and the two after it where it is now, as far as they are short
# (core/recall/space.py). The mark of one zero byte is the hash of no words: a vector that is being
# made meanwhile is refused, also one of a turn alone. It is written once only, too, until a claim
# replaces it.
_OUTDATED = r"""
create or replace function recollect_embed_context() returns trigger language plpgsql as $$
declare
    moved uuid[] := '{}';
    holding uuid[];
begin
    if old.category <> 'episode' then
        return coalesce(new, old);
    end if;
    perform recollect_order(old.owner);
    if tg_op = 'UPDATE' and (old.session, old.project) is distinct from (new.session, new.project)
        and new.category = 'episode' and new.deleted_at is null and not new.is_sensitive
        and char_length(new.content) <= 300
    then
        moved := old.id || array(
            select m.id from (
                select a.id, a.content from memories a
                where a.owner = new.owner and a.session = new.session
                    and coalesce(a.project, '') = coalesce(new.project, '')
                    and a.category = 'episode' and a.deleted_at is null
                    and (a.created_at, a.id) > (new.created_at, new.id)
                order by a.created_at, a.id
                limit 2
            ) m
            where char_length(m.content) <= 300);
    end if;
    holding := array(select c.memory_id from embedding_context c where c.before_id = old.id);
    perform from embeddings e
    where e.memory_id = any(old.id || moved || holding)
    order by e.memory_id, e.space_id
    for update;
    with concerned as materialized (
        select memory_id, space_id from embedding_context
        where before_id = old.id or memory_id = old.id
        union
        select memory_id, space_id from embeddings where memory_id = any(moved)
    ), gone as (
        delete from embedding_context c using concerned
        where c.memory_id = concerned.memory_id and c.space_id = concerned.space_id
    )
    update embeddings e set vector = null, context_hash = '\x00', attempts = 0, due_at = now(),
        last_error = null
    from concerned
    where e.memory_id = concerned.memory_id and e.space_id = concerned.space_id
        and e.context_hash is distinct from '\x00';
    if found then
        perform pg_notify('recollect_embeddings', '');
    end if;
    return coalesce(new, old);
end
$$
"""

_ON_CHANGE = """
create or replace trigger embeddings_context_changed
before update of content, is_sensitive, deleted_at, category, session, project on memories
for each row when (
    old.content <> new.content or old.is_sensitive <> new.is_sensitive
    or (old.deleted_at is null) <> (new.deleted_at is null)
    or old.category <> new.category or old.session is distinct from new.session
    or old.project is distinct from new.project
) execute function recollect_embed_context()
"""

# Those alone, also where a model is at work on them: each is a job again, as after an edit.
_OF_ANOTHER_PROJECT = r"""
with concerned as materialized (
    select distinct c.memory_id, c.space_id
    from embedding_context c
    join memories m on m.id = c.memory_id
    join memories b on b.id = c.before_id
    where m.project is distinct from b.project
), gone as (
    delete from embedding_context c using concerned
    where c.memory_id = concerned.memory_id and c.space_id = concerned.space_id
)
update embeddings e set vector = null, context_hash = '\x00', attempts = 0, due_at = now(),
    last_error = null
from concerned where e.memory_id = concerned.memory_id and e.space_id = concerned.space_id
"""

_NO_TURNS = "drop index memories_turns"
_RING = "select pg_notify('recollect_embeddings', '')"


def upgrade() -> None:
    # The old index goes first: that takes the strongest lock on memories. Whoever asked for it only
    # later could wait for somebody who waits for what is held already.
    for statement in (_NO_TURNS, _TURNS, _OUTDATED, _ON_CHANGE, _OF_ANOTHER_PROJECT, _RING):
        op.execute(statement)


def downgrade() -> None:
    former: Any = import_module("recollect.adapters.postgres.migrations.versions.0007v_context")
    op.execute(_NO_TURNS)
    op.execute("drop trigger embeddings_context_changed on memories")
    op.execute(former.TURNS)
    op.execute(former.OUTDATED.replace("create function", "create or replace function"))
    op.execute(former.ON_CHANGE)
