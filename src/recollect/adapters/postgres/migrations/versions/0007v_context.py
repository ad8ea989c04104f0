"""A turn of a conversation is embedded with those before it: whose words are in whose vector.

What a vector holds of another memory goes when that one is edited, forgotten, erased or becomes
sensitive, in the same transaction. The trigger sees to it. Behind it, for what is erased or becomes
sensitive, stands a foreign key that carries a column which is always false: Postgres refuses
whatever would leave such words behind.
"""

from alembic import op

revision = "0007v"
down_revision = "0004v"
branch_labels = None
depends_on = None

_CONTEXT = """
create table embedding_context (
    space_id integer not null,
    memory_id uuid not null,
    before_id uuid not null,
    sensitive boolean not null generated always as (false) stored,
    primary key (memory_id, space_id, before_id),
    foreign key (memory_id, space_id) references embeddings (memory_id, space_id)
        on delete cascade,
    constraint embedding_context_of_what_may_leave foreign key (before_id, sensitive)
        references memories (id, is_sensitive)
)
"""

_BEFORE = "create index embedding_context_before on embedding_context (before_id)"

_HASH = "alter table embeddings add column context_hash bytea"
_INLINE = "alter table embeddings alter column context_hash set storage plain"

TURNS = """
create index memories_turns on memories (owner, session, created_at desc, id desc)
where category = 'episode' and deleted_at is null
"""

# The lock is the one that whoever changes a memory takes a little later anyway (0003): without it
# two who change neighbours would wait for each other's rows. The vectors' rows are locked before
# what is written of them, as a claim does it, and each is written once only: for the second time
# Postgres would look at its memory again, which somebody may hold who waits for us.
OUTDATED = """
create function recollect_embed_context() returns trigger language plpgsql as $$
begin
    if old.category <> 'episode' then
        return coalesce(new, old);
    end if;
    perform recollect_order(old.owner);
    perform from embeddings e
    where e.memory_id = old.id or (e.memory_id, e.space_id) in (
        select c.memory_id, c.space_id from embedding_context c where c.before_id = old.id)
    order by e.memory_id, e.space_id
    for update;
    with concerned as materialized (
        select distinct memory_id, space_id from embedding_context
        where before_id = old.id or memory_id = old.id
    ), gone as (
        delete from embedding_context c using concerned
        where c.memory_id = concerned.memory_id and c.space_id = concerned.space_id
    )
    update embeddings e set vector = null, context_hash = null, attempts = 0, due_at = now(),
        last_error = null
    from concerned where e.memory_id = concerned.memory_id and e.space_id = concerned.space_id;
    if found then
        perform pg_notify('recollect_embeddings', '');
    end if;
    return coalesce(new, old);
end
$$
"""

ON_CHANGE = """
create trigger embeddings_context_changed
before update of content, is_sensitive, deleted_at, category, session on memories
for each row when (
    old.content <> new.content or old.is_sensitive <> new.is_sensitive
    or (old.deleted_at is null) <> (new.deleted_at is null)
    or old.category <> new.category or old.session is distinct from new.session
) execute function recollect_embed_context()
"""

_ON_ERASURE = """
create trigger embeddings_context_erased before delete on memories
for each row execute function recollect_embed_context()
"""


def upgrade() -> None:
    for statement in (
        _CONTEXT,
        _BEFORE,
        _HASH,
        _INLINE,
        TURNS,
        OUTDATED,
        ON_CHANGE,
        _ON_ERASURE,
    ):
        op.execute(statement)


def downgrade() -> None:
    for name in ("changed", "erased"):
        op.execute(f"drop trigger embeddings_context_{name} on memories")
    op.execute("drop function recollect_embed_context")
    op.execute("drop index memories_turns")
    # Nothing would know any more whose words these are.
    op.execute("update embeddings set vector = null where context_hash is not null")
    op.execute("alter table embeddings drop column context_hash")
    op.execute("drop table embedding_context")
