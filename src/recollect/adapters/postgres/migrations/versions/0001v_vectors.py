"""Vectors: a branch of its own, because a Postgres without pgvector is a server too.

`main` goes on where there is no pgvector; this branch is applied where the extension is usable.
Nothing here computes with a vector: on some processors that would end the whole server.
"""

from alembic import op

revision = "0001v"
down_revision = None
branch_labels = ("vectors",)
depends_on = "0001"

# swept_to: up to which id the space's missing rows were put in; null when all were.
# opened_in: a memory written by a transaction older than this one may not know of the space.
_SPACES = """
create table spaces (
    id integer generated always as identity primary key,
    embedder text not null,
    model text not null,
    revision text not null,
    dimension integer not null check (dimension between 1 and 4000),
    distance text not null check (distance = 'cosine'),
    query_instruction text not null,
    state text not null check (state in ('filling', 'active', 'retired')),
    created_at timestamptz not null default now(),
    opened_in xid8 not null default pg_current_xact_id(),
    last_error text,
    swept_to uuid default '00000000-0000-0000-0000-000000000000',
    constraint spaces_identity unique (model, revision, dimension, distance)
)
"""

_ONE_ACTIVE = "create unique index spaces_active on spaces ((true)) where state = 'active'"

# The concept graph needs the same constraint, and may have come first or go last.
_KEY = """
do $$ begin
    if not exists (select from pg_constraint where conname = 'memories_sensitivity') then
        alter table memories add constraint memories_sensitivity unique (id, is_sensitive);
    end if;
end $$
"""

_NO_KEY = """
do $$ begin
    if not exists (
        select from pg_constraint where contype = 'f' and confrelid = 'memories'::regclass
    ) then
        alter table memories drop constraint if exists memories_sensitivity;
    end if;
end $$
"""

# A row without a vector is a job. The foreign key carries a column that is always false, so that
# Postgres itself refuses a row for a sensitive memory, and refuses to leave one behind.
# There is none onto spaces: every store call would lock the one row that all of them share.
# due_at: not to be taken before; pushed on by a claim and by a failure, infinity when parked.
_EMBEDDINGS = """
create table embeddings (
    space_id integer not null,
    memory_id uuid not null,
    sensitive boolean not null generated always as (false) stored,
    content_hash bytea not null,
    attempts integer not null default 0,
    due_at timestamptz not null default now(),
    last_error text,
    vector halfvec,
    primary key (memory_id, space_id),
    constraint embeddings_of_what_may_leave foreign key (memory_id, sensitive)
        references memories (id, is_sensitive) on delete cascade
)
"""

# Vectors of more than about 1,000 numbers would be moved out of the row, and an exact search would
# fetch each of them from a second table; beside such a vector even the hash would be moved out.
_INLINE = """
alter table embeddings alter column vector set storage main,
    alter column content_hash set storage plain
"""

_PENDING = "create index embeddings_pending on embeddings (space_id, due_at) where vector is null"

# Each function asks first whether there is a space at all: who has not touched the table of vectors
# keeps nobody from giving the first space its index.
_ADDED = """
create function recollect_embed_added() returns trigger language plpgsql as $$
begin
    if exists (select from spaces where state <> 'retired') then
        insert into embeddings (space_id, memory_id, content_hash)
        select s.id, m.id, sha256(convert_to(m.content, 'UTF8'))
        from added m cross join spaces s
        where s.state <> 'retired' and not m.is_sensitive and m.deleted_at is null;
        if found then
            perform pg_notify('recollect_embeddings', '');
        end if;
    end if;
    return null;
end
$$
"""

# Before the change: afterwards the foreign key would have refused it already.
_OUTDATED = """
create function recollect_embed_outdated() returns trigger language plpgsql as $$
begin
    if exists (select from spaces) then
        delete from embeddings where memory_id = old.id;
    end if;
    return new;
end
$$
"""

# The conflict is a row that a sweep put in for the old text between the two triggers.
_CHANGED = """
create function recollect_embed_changed() returns trigger language plpgsql as $$
begin
    if exists (select from spaces where state <> 'retired') then
        insert into embeddings (space_id, memory_id, content_hash)
        select s.id, new.id, sha256(convert_to(new.content, 'UTF8'))
        from spaces s where s.state <> 'retired'
        on conflict (memory_id, space_id) do update
        set content_hash = excluded.content_hash, vector = null, attempts = 0, due_at = now(),
            last_error = null;
        perform pg_notify('recollect_embeddings', '');
    end if;
    return null;
end
$$
"""

_ON_ADDED = """
create trigger embeddings_added after insert on memories referencing new table as added
for each statement execute function recollect_embed_added()
"""

_MATTERS = """
old.content <> new.content or old.is_sensitive <> new.is_sensitive
    or (old.deleted_at is null) <> (new.deleted_at is null)
"""

_ON_OUTDATED = f"""
create trigger embeddings_outdated before update of content, is_sensitive, deleted_at on memories
for each row when ({_MATTERS}) execute function recollect_embed_outdated()
"""

_ON_CHANGED = f"""
create trigger embeddings_changed after update of content, is_sensitive, deleted_at on memories
for each row when (({_MATTERS}) and not new.is_sensitive and new.deleted_at is null)
execute function recollect_embed_changed()
"""


def upgrade() -> None:
    for statement in (
        _SPACES,
        _ONE_ACTIVE,
        _KEY,
        _EMBEDDINGS,
        _INLINE,
        _PENDING,
        _ADDED,
        _OUTDATED,
        _CHANGED,
        _ON_ADDED,
        _ON_OUTDATED,
        _ON_CHANGED,
    ):
        op.execute(statement)


def downgrade() -> None:
    for name in ("added", "outdated", "changed"):
        op.execute(f"drop trigger embeddings_{name} on memories")
        op.execute(f"drop function recollect_embed_{name}")
    op.execute("drop table embeddings")
    op.execute("drop table spaces")
    op.execute(_NO_KEY)
