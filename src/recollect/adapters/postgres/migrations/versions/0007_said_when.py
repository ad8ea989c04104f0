"""Every statement keeps its own dates, and an edge has those that follow from its statements: they
no longer depend on which was read last. See docs/adr/0022.
"""

from alembic import op

from recollect.adapters.postgres.migrations import graph_functions

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# said_from, said_until: the dates that the text names. Where it names none it holds since it was
# said; -infinity and not null, because it is a part of the key.
_DATES = """
alter table edge_evidence
    add column said_from timestamptz not null default '-infinity',
    add column said_until timestamptz,
    add column starts_at timestamptz not null generated always as (
        case when said_from = '-infinity' then stated_at else said_from end) stored
"""
_KEY = """
alter table edge_evidence drop constraint edge_evidence_pkey,
    add primary key (edge_id, memory_id, source_key, target_key, said_from)
"""
# Which text named the dates of an edge is not known any more: all that say it are taken to.
_PRESENT = """
update edge_evidence e set
    said_from = case when c.valid_from = f.first then '-infinity' else c.valid_from end,
    said_until = c.stated_until
from concept_edges c
join (select edge_id, min(stated_at) as first from edge_evidence group by edge_id) f
    on f.edge_id = c.id
where c.id = e.edge_id
"""

# After evidence came or went: an edge without any goes; one whose texts were all changed is no
# longer held for true. Its dates are those of what is still said, or else of what was: from the
# first start until the last end that a text names, unless it is said to begin again after that.
_WEIGH = """
create or replace function recollect_graph_weigh(edges uuid[]) returns void language plpgsql as $$
begin
    delete from concept_edges c where c.id = any(edges)
        and not exists (select from edge_evidence e where e.edge_id = c.id);
    update concept_edges c
    set weight = ln(1 + greatest(e.held, 1)) / ln(2.0),
        known_until = case when e.held = 0 then e.withdrawn end,
        learned_at = e.learned, valid_from = e.start, stated_until = e.until,
        valid_to = case when c.is_single then least(c.valid_to, e.until) else e.until end
    from (
        select edge_id, count(distinct memory_id) filter (where withdrawn_at is null) as held,
            max(withdrawn_at) as withdrawn, min(learned) as learned, min(starts_at) as start,
            case when max(starts_at) filter (where said_until is null) >= max(said_until) then null
                else max(said_until) end as until
        from (
            select e.*, min(e.stated_at) over w as learned,
                bool_or(e.withdrawn_at is null) over w as is_held
            from edge_evidence e where e.edge_id = any(edges) window w as (partition by e.edge_id)
        ) s
        where withdrawn_at is null or not is_held
        group by edge_id
    ) e
    where c.id = e.edge_id;
end
$$
"""
# Of a single-valued relation each edge ends where the next begins; one that leads back to where it
# comes from, because two names were made one, says nothing and ends nothing.
_SETTLE = """
create or replace function recollect_graph_settle(sources uuid[], relations text[]) returns void
language sql volatile as $$
    with wanted as (
        select distinct source, relation from unnest(sources, relations) as w(source, relation)
    ), periods as (
        select c.id, lead(c.valid_from) over (
            partition by c.source, c.relation order by c.valid_from, c.learned_at, t.key, c.id)
            as next
        from concept_edges c join wanted using (source, relation) join concepts t on t.id = c.target
        where c.is_single and c.known_until is null and c.source <> c.target
    )
    update concept_edges c set valid_to = least(c.stated_until, p.next)
    from periods p
    where c.id = p.id and c.valid_to is distinct from least(c.stated_until, p.next)
$$
"""
_WEIGH_ALL = """
select recollect_graph_weigh(array(select id from concept_edges)),
    recollect_graph_settle(array(select source from concept_edges where is_single order by id),
        array(select relation from concept_edges where is_single order by id))
"""

# The statements of one edge that differ in their dates alone become one again.
_ONCE = """
delete from edge_evidence e using edge_evidence o
where o.edge_id = e.edge_id and o.memory_id = e.memory_id and o.source_key = e.source_key
    and o.target_key = e.target_key and o.said_from < e.said_from
"""
_NO_KEY = """
alter table edge_evidence drop constraint edge_evidence_pkey,
    add primary key (edge_id, memory_id, source_key, target_key)
"""
_NO_DATES = """
alter table edge_evidence drop column starts_at, drop column said_until, drop column said_from
"""


def _replaced(name: str) -> str:
    return graph_functions.FUNCTIONS[name].replace("create function", "create or replace function")


def upgrade() -> None:
    op.execute("alter table edge_evidence disable trigger user")
    for statement in (_DATES, _PRESENT, _KEY):
        op.execute(statement)
    op.execute("alter table edge_evidence enable trigger user")
    for statement in (_WEIGH, _SETTLE, _WEIGH_ALL):
        op.execute(statement)


def downgrade() -> None:
    for statement in (_ONCE, _NO_KEY, _NO_DATES):
        op.execute(statement)
    for name in ("recollect_graph_weigh", "recollect_graph_settle"):
        op.execute(_replaced(name))
