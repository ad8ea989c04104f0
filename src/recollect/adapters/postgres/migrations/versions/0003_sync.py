"""Changes in the order of their commits, tombstones, and the losing sides of conflicts."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_POSITIONS = "create sequence change_positions"

# One row a memory, and one for each that was erased. extra: fields that only newer versions know.
# edits: for each store the last edit of it that is in the memory, and the version it became.
_CHANGES = """
create table changes (
    memory_id uuid primary key,
    owner text not null,
    position bigint not null,
    erased_at timestamptz,
    extra jsonb not null default '{}',
    edits jsonb not null default '{}'
)
"""

_READING_INDEX = "create index changes_reading on changes (owner, position)"

_REVISIONS = """
create table revisions (
    id uuid primary key,
    owner text not null,
    memory_id uuid not null,
    kind text not null,
    fields jsonb not null,
    made_at timestamptz not null,
    resolved_at timestamptz,
    position bigint not null
)
"""

_REVISIONS_READING = "create index revisions_reading on revisions (owner, position)"
_REVISIONS_OF = "create index revisions_of on revisions (memory_id)"

_SERVER = "create table sync_server (id uuid primary key, single boolean unique default true)"

# Held until the transaction ends, so that positions of one owner are drawn in the order of commits
# (docs/adr/0018). 5346 is any number: it keeps this kind of lock apart from others.
_LOCK = """
create function recollect_order(owner text) returns void language sql volatile
return pg_advisory_xact_lock(5346, hashtext(owner))
"""

_ADDED = """
create function recollect_change_added() returns trigger language plpgsql as $$
begin
    perform recollect_order(o.owner) from (select distinct owner from added order by 1) o;
    insert into changes (memory_id, owner, position)
    select id, owner, nextval('change_positions') from added
    on conflict (memory_id) do update
    set owner = excluded.owner, position = excluded.position, erased_at = null;
    return null;
end
$$
"""

_CHANGED = """
create function recollect_change_changed() returns trigger language plpgsql as $$
begin
    perform recollect_order(o.owner) from (select distinct owner from changed order by 1) o;
    update changes c set position = nextval('change_positions')
    from changed m where c.memory_id = m.id;
    return null;
end
$$
"""

# Nothing of the memory stays but its id: not its unknown fields, not the sides of its conflicts.
_ERASED = """
create function recollect_change_erased() returns trigger language plpgsql as $$
begin
    perform recollect_order(o.owner) from (select distinct owner from gone order by 1) o;
    update changes c
    set position = nextval('change_positions'), erased_at = now(), extra = '{}', edits = '{}'
    from gone m where c.memory_id = m.id;
    delete from revisions r using gone m where r.memory_id = m.id;
    return null;
end
$$
"""

_REVISED = """
create function recollect_revised() returns trigger language plpgsql as $$
begin
    perform recollect_order(new.owner);
    new.position := nextval('change_positions');
    return new;
end
$$
"""

_TRIGGERS = (
    """
create trigger changes_added after insert on memories referencing new table as added
for each statement execute function recollect_change_added()
""",
    """
create trigger changes_changed after update on memories referencing new table as changed
for each statement execute function recollect_change_changed()
""",
    """
create trigger changes_erased after delete on memories referencing old table as gone
for each statement execute function recollect_change_erased()
""",
    """
create trigger revisions_ordered before insert or update on revisions
for each row execute function recollect_revised()
""",
)

_PRESENT = """
insert into changes (memory_id, owner, position)
select id, owner, nextval('change_positions') from memories order by created_at, id
"""


def upgrade() -> None:
    for statement in (
        _POSITIONS,
        _CHANGES,
        _REVISIONS,
        _SERVER,
        _LOCK,
        _ADDED,
        _CHANGED,
        _ERASED,
        _REVISED,
        *_TRIGGERS,
        _PRESENT,
        _READING_INDEX,
        _REVISIONS_READING,
        _REVISIONS_OF,
    ):
        op.execute(statement)


def downgrade() -> None:
    for name in ("added", "changed", "erased"):
        op.execute(f"drop trigger changes_{name} on memories")
        op.execute(f"drop function recollect_change_{name}")
    for table in ("sync_server", "revisions", "changes"):
        op.execute(f"drop table {table}")
    op.execute("drop function recollect_revised")
    op.execute("drop function recollect_order")
    op.execute("drop sequence change_positions")
