"""Former states of memories, so that a recall can ask what was known at a moment. A trigger keeps
them, in the transaction of the change.
"""

from alembic import op

revision = "0005a"
down_revision = "0005"
branch_labels = None
depends_on = None

# A version held from when it was written until the next one was.
_VERSIONS = """
create table memory_versions (
    number bigint generated always as identity primary key,
    memory_id uuid not null references memories (id) on delete cascade,
    owner text not null,
    valid_from timestamptz not null,
    valid_to timestamptz not null,
    content text not null,
    category text not null,
    tags text[] not null,
    expanded_keywords text[] not null,
    importance double precision not null,
    is_sensitive boolean not null,
    project text,
    session text,
    version integer not null,
    created_at timestamptz not null,
    deleted_at timestamptz,
    links jsonb not null
)
"""

_OF_A_MEMORY = "create index memory_versions_of on memory_versions (memory_id, number)"
_OF_AN_OWNER = "create index memory_versions_then on memory_versions (owner, valid_from)"

_KEEP = """
create function recollect_version() returns trigger language plpgsql as $$
begin
    insert into memory_versions (memory_id, owner, valid_from, valid_to, content, category, tags,
        expanded_keywords, importance, is_sensitive, project, session, version, created_at,
        deleted_at, links)
    values (old.id, old.owner, old.updated_at, new.updated_at, old.content, old.category, old.tags,
        old.expanded_keywords, old.importance, old.is_sensitive, old.project, old.session,
        old.version, old.created_at, old.deleted_at, old.links);
    delete from memory_versions where memory_id = old.id and number <= (
        select v.number from memory_versions v where v.memory_id = old.id
        order by v.number desc offset 100 limit 1
    );
    return null;
end
$$
"""

_KEPT = """
create trigger versions_kept after update on memories for each row
when (old.version <> new.version or old.updated_at <> new.updated_at)
execute function recollect_version()
"""


def upgrade() -> None:
    for statement in (_VERSIONS, _OF_A_MEMORY, _OF_AN_OWNER, _KEEP, _KEPT):
        op.execute(statement)


def downgrade() -> None:
    op.execute("drop trigger versions_kept on memories")
    op.execute("drop function recollect_version")
    op.execute("drop table memory_versions")
