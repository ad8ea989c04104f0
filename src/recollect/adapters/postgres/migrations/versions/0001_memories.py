"""Memories, the frequencies that tell rare words from common ones, keys and run-time settings."""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = ("main",)
depends_on = None

# array_to_string is only STABLE, because some element types print differently per session; for
# text it always gives the same answer, and a generated column needs that promise.
_JOIN_WORDS = """
create function recollect_join(words text[]) returns text
language sql immutable strict parallel safe
return array_to_string(words, ' ')
"""

_MEMORIES = """
create table memories (
    id uuid primary key,
    owner text not null,
    content text not null,
    category text not null,
    tags text[] not null,
    expanded_keywords text[] not null,
    importance double precision not null check (importance between 0 and 1),
    is_sensitive boolean not null,
    project text,
    session text,
    version integer not null check (version >= 1),
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    search_vector tsvector not null generated always as (
        setweight(to_tsvector('english', content), 'A')
        || setweight(to_tsvector('english', recollect_join(expanded_keywords)), 'B')
        || setweight(to_tsvector('english', recollect_join(tags)), 'C')
        || setweight(to_tsvector('english', category), 'D')
    ) stored,
    constraint episode_has_session check (category <> 'episode' or session is not null)
)
"""

# fastupdate off: a pending list makes every search read it through, and recall is the hot path.
_SEARCH_INDEX = """
create index memories_search on memories using gin (search_vector) with (fastupdate = off)
"""

_LISTING_INDEX = """
create index memories_listing on memories (owner, created_at desc, id desc)
where deleted_at is null
"""

_PROJECT_INDEX = """
create index memories_project on memories (owner, project) where deleted_at is null
"""

_SESSION_INDEX = """
create index memories_session on memories (owner, session) where deleted_at is null
"""

# Where every word of a query is common, its best rows are short ones: this index finds them. Not
# partial, because the planner keeps statistics of an index's expression only for whole indexes.
_LENGTH_INDEX = """
create index memories_length on memories (owner, length(search_vector))
"""

_LEXEME_STATS = """
create table lexeme_stats (lexeme text primary key, ndoc integer not null)
"""

_KEYS = """
create table keys (
    id uuid primary key,
    owner text not null,
    digest bytea not null unique,
    label text not null,
    created_at timestamptz not null,
    revoked_at timestamptz
)
"""

_SETTINGS = """
create table settings (name text primary key, value jsonb not null)
"""


def upgrade() -> None:
    for statement in (
        _JOIN_WORDS,
        _MEMORIES,
        _SEARCH_INDEX,
        _LISTING_INDEX,
        _PROJECT_INDEX,
        _SESSION_INDEX,
        _LENGTH_INDEX,
        _LEXEME_STATS,
        _KEYS,
        _SETTINGS,
    ):
        op.execute(statement)


def downgrade() -> None:
    for table in ("settings", "keys", "lexeme_stats", "memories"):
        op.execute(f"drop table {table}")
    op.execute("drop function recollect_join")
