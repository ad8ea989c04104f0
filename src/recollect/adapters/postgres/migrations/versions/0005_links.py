"""Links between memories: a field of the memory, and a side table that finds them from their other
end, kept by triggers.
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_COLUMN = """
alter table memories add column links jsonb not null default '[]'
    constraint links_are_a_list check (jsonb_typeof(links) = 'array')
"""

_SIDE_TABLE = """
create table memory_links (
    memory_id uuid not null references memories (id) on delete cascade,
    kind text not null,
    target uuid not null,
    primary key (memory_id, kind, target)
)
"""

_SUCCESSORS = """
create index memory_successors on memory_links (target, memory_id) where kind = 'supersedes'
"""

_LINKED = """
create function recollect_linked() returns trigger language plpgsql as $$
begin
    delete from memory_links where memory_id = new.id;
    insert into memory_links (memory_id, kind, target)
    select distinct new.id, l ->> 'kind', (l ->> 'target')::uuid
    from jsonb_array_elements(new.links) l;
    return null;
end
$$
"""

# Most memories have no links: for them neither trigger is called.
_TRIGGERS = (
    """
create trigger links_added after insert on memories
for each row when (new.links <> '[]') execute function recollect_linked()
""",
    """
create trigger links_changed after update of links on memories
for each row when (new.links <> old.links) execute function recollect_linked()
""",
)

# A newer client may have pushed links to a server that did not know them: they are among the
# unknown fields, and become links here, where they are well formed.
_FOUND = """
with found as (
    update changes c set extra = c.extra - 'links'
    from changes former
    where former.memory_id = c.memory_id and jsonb_typeof(c.extra -> 'links') = 'array'
        and not exists (
            select from jsonb_array_elements(c.extra -> 'links') l
            where jsonb_typeof(l -> 'kind') is distinct from 'string'
                or coalesce(l ->> 'target', '') !~
                    '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
        )
    returning c.memory_id, former.extra -> 'links' as links
)
update memories m set links = found.links from found where m.id = found.memory_id
"""


def upgrade() -> None:
    for statement in (_COLUMN, _SIDE_TABLE, _SUCCESSORS, _LINKED, *_TRIGGERS, _FOUND):
        op.execute(statement)


def downgrade() -> None:
    for name in ("added", "changed"):
        op.execute(f"drop trigger links_{name} on memories")
    op.execute("drop function recollect_linked")
    op.execute("drop table memory_links")
    op.execute("alter table memories drop column links")
