"""The concept graph: concepts and their names, mentions, dated edges with their evidence, and which
memories are still to be read for it. See docs/adr/0022.
"""

from alembic import op

from recollect.adapters.postgres.migrations import graph_functions

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# The branch of vectors needs the same constraint, and may have come first.
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

# compared_in: the space of vectors in which it was compared with the others; null while it waits.
_CONCEPTS = """
create table concepts (
    id uuid primary key,
    owner text not null,
    key text not null,
    name text not null,
    kind text not null,
    compared_in integer,
    created_at timestamptz not null default now(),
    constraint concepts_by_key unique (owner, key)
)
"""
_CONCEPTS_WAITING = (
    "create index concepts_waiting on concepts (created_at) where compared_in is null"
)

# Every form a concept is known by, its own key too. One that was mended by hand outlives the edits
# of its memories, so that the decision holds when the name comes again.
_NAMES = """
create table concept_names (
    owner text not null,
    key text not null,
    concept_id uuid not null references concepts (id) on delete cascade,
    name text not null,
    is_mended boolean not null default false,
    primary key (owner, key)
)
"""
_NAMES_OF = "create index concept_names_of on concept_names (concept_id)"
_NAMES_MENDED = "create index concept_names_mended on concept_names (owner) where is_mended"

# As for vectors: the foreign key carries a column that is always false, so that Postgres itself
# refuses a row for a sensitive memory, and refuses to leave one behind. The same holds for the two
# other tables that refer to memories.
_MENTIONS = """
create table memory_concepts (
    memory_id uuid not null,
    key text not null,
    concept_id uuid not null references concepts (id) on delete cascade,
    owner text not null,
    weight real not null default 1,
    sensitive boolean not null generated always as (false) stored,
    primary key (memory_id, key),
    constraint mentions_by_what_may_leave foreign key (memory_id, sensitive)
        references memories (id, is_sensitive) on delete cascade
)
"""
_MENTIONS_OF = "create index memory_concepts_of on memory_concepts (concept_id, memory_id)"
_MENTIONS_BY_KEY = "create index memory_concepts_by_key on memory_concepts (owner, key)"

# True from valid_from until valid_to; held for true from learned_at until known_until.
# stated_until: the end that a text names; valid_to may come sooner, by contradiction.
_EDGES = """
create table concept_edges (
    id uuid primary key,
    owner text not null,
    source uuid not null references concepts (id) on delete cascade,
    target uuid not null references concepts (id) on delete cascade,
    relation text not null,
    is_single boolean not null default false,
    weight real not null default 1,
    valid_from timestamptz not null,
    valid_to timestamptz,
    stated_until timestamptz,
    learned_at timestamptz not null,
    known_until timestamptz
)
"""
_EDGES_FROM = "create index concept_edges_from on concept_edges (source, relation, target)"
_EDGES_TO = "create index concept_edges_to on concept_edges (target)"
_EDGES_OWNED = "create index concept_edges_owned on concept_edges (owner)"

# The keys are those the memory used: after a merge or a split they say where the edge belongs.
_EVIDENCE = """
create table edge_evidence (
    edge_id uuid not null references concept_edges (id) on delete cascade,
    memory_id uuid not null,
    source_key text not null,
    target_key text not null,
    owner text not null,
    stated_at timestamptz not null,
    withdrawn_at timestamptz,
    sensitive boolean not null generated always as (false) stored,
    primary key (edge_id, memory_id, source_key, target_key),
    constraint evidence_of_what_may_leave foreign key (memory_id, sensitive)
        references memories (id, is_sensitive) on delete cascade
)
"""
_EVIDENCE_OF = "create index edge_evidence_of on edge_evidence (memory_id)"
_EVIDENCE_FROM = "create index edge_evidence_from on edge_evidence (owner, source_key)"
_EVIDENCE_TO = "create index edge_evidence_to on edge_evidence (owner, target_key)"

_NEAR = """
create table near_concepts (
    source uuid not null references concepts (id) on delete cascade,
    target uuid not null references concepts (id) on delete cascade,
    owner text not null,
    similarity real not null,
    primary key (source, target)
)
"""
_NEAR_TO = "create index near_concepts_to on near_concepts (target)"
_NEAR_OWNED = "create index near_concepts_owned on near_concepts (owner)"

_VERSIONS = "create table graph_versions (owner text primary key, version bigint not null)"

# One row a memory that may be read. extracted_by grows with what read it: 0 for nobody yet.
# due_at: not to be taken before; pushed on by a claim and by a failure, infinity when parked.
# answer: what a language model said of this very text, so that it is not asked again.
_EXTRACTIONS = """
create table extractions (
    memory_id uuid primary key,
    owner text not null,
    sensitive boolean not null generated always as (false) stored,
    content_hash bytea not null,
    extracted_by integer not null default 0,
    attempts integer not null default 0,
    due_at timestamptz not null default now(),
    last_error text,
    answer jsonb,
    answered_by text,
    constraint extractions_of_what_may_leave foreign key (memory_id, sensitive)
        references memories (id, is_sensitive) on delete cascade
)
"""
_PENDING = "create index extractions_pending on extractions (extracted_by, due_at)"
_ANSWERED = """
create index extractions_answered on extractions (owner, content_hash) where answer is not null
"""

_BUDGET = """
create table extraction_budget (
    day date primary key, calls integer not null default 0, tokens bigint not null default 0
)
"""

_TABLES = (
    "extraction_budget",
    "extractions",
    "graph_versions",
    "near_concepts",
    "edge_evidence",
    "concept_edges",
    "memory_concepts",
    "concept_names",
    "concepts",
)
_PRESENT = """
insert into extractions (memory_id, owner, content_hash)
select id, owner, recollect_extracted_text(content, tags, expanded_keywords)
from memories where not is_sensitive and deleted_at is null
"""


def upgrade() -> None:
    for statement in (
        _KEY,
        *(_CONCEPTS, _CONCEPTS_WAITING, _NAMES, _NAMES_OF, _NAMES_MENDED),
        *(_MENTIONS, _MENTIONS_OF, _MENTIONS_BY_KEY),
        *(_EDGES, _EDGES_FROM, _EDGES_TO, _EDGES_OWNED),
        *(_EVIDENCE, _EVIDENCE_OF, _EVIDENCE_FROM, _EVIDENCE_TO),
        *(_NEAR, _NEAR_TO, _NEAR_OWNED),
        *(_VERSIONS, _EXTRACTIONS, _PENDING, _ANSWERED, _BUDGET),
        *graph_functions.FUNCTIONS.values(),
        *graph_functions.TRIGGERS,
        _PRESENT,
    ):
        op.execute(statement)


def downgrade() -> None:
    for name in ("added", "outdated", "changed", "erasing"):
        op.execute(f"drop trigger graph_{name} on memories")
    for table in _TABLES:
        # Cascade: to the foreign key of the vectors' branch, which may go after this one.
        op.execute(f"drop table {table} cascade")
    for name in reversed(graph_functions.FUNCTIONS):
        op.execute(f"drop function {name}")
    op.execute(_NO_KEY)
