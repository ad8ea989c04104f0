"""How the concept graph follows its memories by itself: functions and triggers of migration 0004.

In the database and not in a store's code, so that whatever changes or erases a memory, the graph
holds nothing of it a moment longer.
"""

from __future__ import annotations

from typing import Final

# What is read for the graph: another text, tag or keyword is another extraction.
_HASH = """
create function recollect_extracted_text(content text, tags text[], keywords text[]) returns bytea
language sql immutable strict parallel safe
return sha256(convert_to(
    content || chr(31) || recollect_join(tags) || chr(31) || recollect_join(keywords), 'UTF8'))
"""

# Whoever changes an owner's graph does so alone, rows of memories locked before. 5347 is any
# number: it keeps this kind of lock apart from others.
_LOCK = """
create function recollect_graph_alone(owner text) returns void language sql volatile
return pg_advisory_xact_lock(5347, hashtext(owner))
"""

# The row is locked until the transaction ends: versions of one owner grow in the order of commits.
_GREW = """
create function recollect_graph_grew(grown text) returns void language sql volatile as $$
    insert into graph_versions as v (owner, version) values (grown, 1)
    on conflict (owner) do update set version = v.version + 1
$$
"""

# Names that no text justifies any more go, and with its last name a concept. One that was mended by
# hand outlives an edit, but no erasure: which text it came from is not known any more then, so all
# go that no text uses now. A concept that loses the name it was shown by is shown by another.
_TIDY = """
create function recollect_graph_tidy(whose text, keys text[], even_mended boolean) returns void
language plpgsql as $$
declare
    touched uuid[];
begin
    if even_mended then
        keys := keys || array(select n.key from concept_names n where n.owner = whose
            and n.is_mended);
    end if;
    with gone as (
        delete from concept_names n
        where n.owner = whose and n.key = any(keys) and (even_mended or not n.is_mended)
            and not exists (
                select from memory_concepts m where m.owner = n.owner and m.key = n.key)
            and not exists (
                select from edge_evidence e where e.owner = n.owner and e.source_key = n.key)
            and not exists (
                select from edge_evidence e where e.owner = n.owner and e.target_key = n.key)
        returning n.concept_id
    )
    select array_agg(distinct concept_id) into touched from gone;
    if touched is not null then
        delete from concepts c where c.id = any(touched)
            and not exists (select from concept_names n where n.concept_id = c.id);
        update concepts c set key = n.key, name = n.name
        from (
            select distinct on (concept_id) concept_id, key, name from concept_names
            where concept_id = any(touched) order by concept_id, is_mended desc, key
        ) n
        where c.id = n.concept_id and not exists (
            select from concept_names k where k.concept_id = c.id and k.key = c.key);
    end if;
end
$$
"""

# After evidence came or went: an edge without any goes; one whose texts were all changed is no
# longer held for true; of a single-valued relation each edge ends where the next begins.
_WEIGH = """
create function recollect_graph_weigh(edges uuid[]) returns void language plpgsql as $$
begin
    delete from concept_edges c where c.id = any(edges)
        and not exists (select from edge_evidence e where e.edge_id = c.id);
    update concept_edges c
    set weight = ln(1 + greatest(e.held, 1)) / ln(2.0),
        known_until = case when e.held = 0 then e.withdrawn end
    from (
        select edge_id, count(distinct memory_id) filter (where withdrawn_at is null) as held,
            max(withdrawn_at) as withdrawn
        from edge_evidence where edge_id = any(edges) group by edge_id
    ) e
    where c.id = e.edge_id;
end
$$
"""

_SETTLE = """
create function recollect_graph_settle(sources uuid[], relations text[]) returns void
language sql volatile as $$
    with wanted as (
        select distinct source, relation from unnest(sources, relations) as w(source, relation)
    ), periods as (
        select c.id, lead(c.valid_from) over (
            partition by c.source, c.relation order by c.valid_from, c.id) as next
        from concept_edges c join wanted using (source, relation)
        where c.is_single and c.known_until is null
    )
    update concept_edges c set valid_to = least(c.stated_until, p.next)
    from periods p
    where c.id = p.id and c.valid_to is distinct from least(c.stated_until, p.next)
$$
"""

_ADDED = """
create function recollect_graph_added() returns trigger language plpgsql as $$
begin
    insert into extractions (memory_id, owner, content_hash)
    select id, owner, recollect_extracted_text(content, tags, expanded_keywords)
    from added where not is_sensitive and deleted_at is null;
    if found then
        perform pg_notify('recollect_graph', '');
    end if;
    return null;
end
$$
"""

# Of a memory that is erased or becomes sensitive nothing stays.
_LEFT = """
create function recollect_graph_left(whose text, memory uuid) returns void language plpgsql as $$
declare
    keys text[];
begin
    if not exists (select from memory_concepts m where m.memory_id = memory)
        and not exists (select from edge_evidence e where e.memory_id = memory)
        and not exists (select from concept_names n where n.owner = whose and n.is_mended) then
        return;
    end if;
    perform recollect_graph_alone(whose);
    select coalesce(array_agg(key), '{}') into keys from (
        select m.key from memory_concepts m where m.memory_id = memory
        union select e.source_key from edge_evidence e where e.memory_id = memory
        union select e.target_key from edge_evidence e where e.memory_id = memory
    ) k;
    delete from edge_evidence e where e.memory_id = memory;
    delete from memory_concepts m where m.memory_id = memory;
    perform recollect_graph_tidy(whose, keys, true);
    perform recollect_graph_grew(whose);
end
$$
"""

# Before the change: afterwards the foreign keys would have refused it already. Of a memory that was
# edited the evidence stays, as what was once said.
_OUTDATED = """
create function recollect_graph_outdated() returns trigger language plpgsql as $$
begin
    if exists (select from memory_concepts where memory_id = old.id)
        or exists (select from edge_evidence where memory_id = old.id) then
        perform recollect_graph_alone(old.owner);
    end if;
    delete from extractions where memory_id = old.id;
    if new.is_sensitive then
        perform recollect_graph_left(old.owner, old.id);
    else
        update edge_evidence set withdrawn_at = now()
        where memory_id = old.id and withdrawn_at is null;
        delete from memory_concepts where memory_id = old.id;
    end if;
    return new;
end
$$
"""

_CHANGED = """
create function recollect_graph_changed() returns trigger language plpgsql as $$
begin
    insert into extractions (memory_id, owner, content_hash)
    values (new.id, new.owner,
        recollect_extracted_text(new.content, new.tags, new.expanded_keywords));
    perform pg_notify('recollect_graph', '');
    return null;
end
$$
"""

_ERASING = """
create function recollect_graph_erasing() returns trigger language plpgsql as $$
begin
    perform recollect_graph_left(old.owner, old.id);
    return old;
end
$$
"""

_UNMENTIONED = """
create function recollect_graph_unmentioned() returns trigger language plpgsql as $$
begin
    perform recollect_graph_tidy(g.owner, g.keys, false), recollect_graph_grew(g.owner)
    from (select owner, array_agg(distinct key) as keys from gone group by owner) g;
    return null;
end
$$
"""

_UNSAID = """
create function recollect_graph_unsaid() returns trigger language plpgsql as $$
declare
    touched uuid[];
    sources uuid[];
    relations text[];
begin
    select array_agg(distinct edge_id) into touched from gone;
    if touched is null then
        return null;
    end if;
    select array_agg(source), array_agg(relation) into sources, relations
    from concept_edges where id = any(touched) and is_single;
    perform recollect_graph_weigh(touched);
    perform recollect_graph_settle(sources, relations);
    perform recollect_graph_tidy(g.owner, g.keys, false), recollect_graph_grew(g.owner)
    from (
        select owner, array_agg(distinct key) as keys
        from (select owner, source_key as key from gone union select owner, target_key from gone) k
        group by owner
    ) g;
    return null;
end
$$
"""
FUNCTIONS: Final = {
    "recollect_extracted_text": _HASH,
    "recollect_graph_alone": _LOCK,
    "recollect_graph_grew": _GREW,
    "recollect_graph_tidy": _TIDY,
    "recollect_graph_weigh": _WEIGH,
    "recollect_graph_settle": _SETTLE,
    "recollect_graph_left": _LEFT,
    "recollect_graph_added": _ADDED,
    "recollect_graph_outdated": _OUTDATED,
    "recollect_graph_changed": _CHANGED,
    "recollect_graph_erasing": _ERASING,
    "recollect_graph_unmentioned": _UNMENTIONED,
    "recollect_graph_unsaid": _UNSAID,
}

_MATTERS = """
old.content <> new.content or old.tags <> new.tags or old.is_sensitive <> new.is_sensitive
    or old.expanded_keywords <> new.expanded_keywords
    or (old.deleted_at is null) <> (new.deleted_at is null)
"""
_FIELDS = "content, tags, expanded_keywords, is_sensitive, deleted_at"
TRIGGERS: Final = (
    """
create trigger graph_added after insert on memories referencing new table as added
for each statement execute function recollect_graph_added()
""",
    f"""
create trigger graph_outdated before update of {_FIELDS} on memories
for each row when ({_MATTERS}) execute function recollect_graph_outdated()
""",
    f"""
create trigger graph_changed after update of {_FIELDS} on memories
for each row when (({_MATTERS}) and not new.is_sensitive and new.deleted_at is null)
execute function recollect_graph_changed()
""",
    """
create trigger graph_erasing before delete on memories
for each row execute function recollect_graph_erasing()
""",
    """
create trigger graph_unmentioned after delete on memory_concepts referencing old table as gone
for each statement execute function recollect_graph_unmentioned()
""",
    """
create trigger graph_unsaid after delete on edge_evidence referencing old table as gone
for each statement execute function recollect_graph_unsaid()
""",
    """
create trigger graph_withdrawn after update on edge_evidence referencing new table as gone
for each statement execute function recollect_graph_unsaid()
""",
)
