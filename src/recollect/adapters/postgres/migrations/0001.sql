-- The tables that every database has, by feature. Those of vectors are in 0001v.sql.
--
-- Every table of an owner's data begins its key with the owner, and so does every foreign key: the
-- same id under two owners is two memories (docs/adr/0039).
--
-- After the first release this script never changes.

-- array_to_string is only STABLE, because some element types print differently per session. For
-- text the result is always the same.
create function recollect_join(words text[]) returns text
language sql immutable strict parallel safe
return array_to_string(words, ' ');

-- memories_sensitivity: the target of the foreign keys that keep sensitive memories out of the
-- graph and out of vectors.
create table memories (
    owner text not null,
    id uuid not null,
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
    links jsonb not null default '[]'
        constraint links_are_a_list check (jsonb_typeof(links) = 'array'),
    -- When it is recalled; null: always.
    valid_from timestamptz,
    valid_until timestamptz,
    constraint valid_until_is_later check (valid_until > valid_from),
    -- Who made this version, for people; null: not recorded.
    changed_by text,
    -- What the memory is found by, as core/text/terms.py analyzed it: by which version, and in
    -- which languages. Version 0 is not analyzed yet; the worker does it.
    search_vector tsvector not null default '',
    languages text not null default '',
    analyzer smallint not null default 0,
    constraint episode_has_session check (category <> 'episode' or session is not null),
    primary key (owner, id),
    constraint memories_sensitivity unique (owner, id, is_sensitive)
);

create index memories_listing on memories (owner, created_at desc, id desc)
where deleted_at is null;

create index memories_project on memories (owner, project) where deleted_at is null;

create index memories_session on memories (owner, session) where deleted_at is null;

-- The few that are not always valid.
create index memories_lifetime on memories (owner, id)
where valid_from is not null or valid_until is not null;

-- Finds the memory that says the same as a new one: see lexical/same_text.py.
create index memories_same_text on memories
    (owner, hashtextextended(regexp_replace(content, '\s+', '', 'g'), 0))
    where deleted_at is null and category <> 'episode';

-- fastupdate off: every search would read the pending list, and recall is the hot path.
create index memories_search on memories using gin (search_vector) with (fastupdate = off);

-- When every word of a query is common, the best rows are short ones, and this index finds them.
-- Not partial: the planner keeps statistics of an index's expression only for whole indexes.
create index memories_length on memories (owner, length(search_vector));

-- Which languages an owner's memories are in, one step of the index for each.
create index memories_languages on memories (owner, languages) where deleted_at is null;

-- What an earlier version of the analyzer has left.
create index memories_analyzer on memories (analyzer, owner, id);

-- An owner's sensitive memories: their words are counted with each recall and kept nowhere.
create index memories_sensitive on memories (owner) where is_sensitive and deleted_at is null;

-- How many of an owner's memories hold a word, sensitive ones not counted. Only for owners with
-- many memories: the words of others are counted with each recall.
create table lexeme_stats (
    owner text not null, lexeme text not null, ndoc integer not null, primary key (owner, lexeme)
);

-- When a memory becomes sensitive. A word of one memory alone has no row, so one of two loses it.
-- For a common word, one more or less tells nothing. The lock is the one that a rebuild holds: a
-- rebuild must not bring the words back.
create function recollect_hide_words() returns trigger language plpgsql as $$
declare
    words text[] := tsvector_to_array(old.search_vector);
begin
    perform pg_advisory_xact_lock(1589645804, hashtext(old.owner));
    delete from lexeme_stats where owner = old.owner and lexeme = any(words) and ndoc <= 2;
    update lexeme_stats set ndoc = ndoc - 1
    where owner = old.owner and lexeme = any(words) and ndoc <= 1000;
    return null;
end
$$;

create trigger hide_words after update on memories for each row
when (new.is_sensitive and not old.is_sensitive) execute function recollect_hide_words();

-- Finds the links of memories from their other end.
create table memory_links (
    owner text not null,
    memory_id uuid not null,
    kind text not null,
    target uuid not null,
    primary key (owner, memory_id, kind, target),
    foreign key (owner, memory_id) references memories (owner, id) on delete cascade
);

create index memory_successors on memory_links (owner, target, memory_id)
where kind = 'supersedes';

create function recollect_linked() returns trigger language plpgsql as $$
declare
    link record;
begin
    delete from memory_links where owner = new.owner and memory_id = new.id;
    for link in
        select distinct l ->> 'kind' as kind, (l ->> 'target')::uuid as target
        from jsonb_array_elements(new.links) l
    loop
        insert into memory_links (owner, memory_id, kind, target)
        values (new.owner, new.id, link.kind, link.target);
    end loop;
    return null;
end
$$;

-- Most memories have no links: for them neither trigger is called.
create trigger links_added after insert on memories
for each row when (new.links <> '[]') execute function recollect_linked();

create trigger links_changed after update of links on memories
for each row when (new.links <> old.links) execute function recollect_linked();

-- Former states of memories, at most 100 of each, for recalls of what was known at a moment. A
-- version was known from when it was written until the next one was. They are numbered per memory:
-- the memory is locked while it is changed, and a sequence would be another one on each node of
-- Citus.
create table memory_versions (
    owner text not null,
    memory_id uuid not null,
    number bigint not null,
    known_from timestamptz not null,
    known_until timestamptz not null,
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
    links jsonb not null,
    valid_from timestamptz,
    valid_until timestamptz,
    changed_by text,
    search_vector tsvector not null,
    analyzer smallint not null,
    primary key (owner, memory_id, number),
    foreign key (owner, memory_id) references memories (owner, id) on delete cascade
);

create index memory_versions_then on memory_versions (owner, known_from);

create index memory_versions_analyzer on memory_versions
    (analyzer, owner, memory_id, number);

create function recollect_version() returns trigger language plpgsql as $$
declare
    last bigint;
begin
    select max(v.number) into last from memory_versions v
    where v.owner = old.owner and v.memory_id = old.id;
    insert into memory_versions (memory_id, owner, number, known_from, known_until, content,
        category, tags, expanded_keywords, importance, is_sensitive, project, session, version,
        created_at, deleted_at, links, valid_from, valid_until, changed_by, search_vector, analyzer)
    values (old.id, old.owner, coalesce(last, 0) + 1, old.updated_at, new.updated_at, old.content,
        old.category, old.tags, old.expanded_keywords, old.importance, old.is_sensitive,
        old.project, old.session, old.version, old.created_at, old.deleted_at, old.links,
        old.valid_from, old.valid_until, old.changed_by, old.search_vector, old.analyzer);
    delete from memory_versions
    where owner = old.owner and memory_id = old.id and number <= last - 99;
    return null;
end
$$;

create trigger versions_kept after update on memories for each row
when (old.version <> new.version or old.updated_at <> new.updated_at)
execute function recollect_version();

-- id: which server this database is. epoch: clients compare it. place: where these tables are on
-- disk; a restore puts them elsewhere, and a new epoch begins.
create table sync_server (
    id uuid primary key,
    single boolean unique default true,
    epoch uuid not null default gen_random_uuid(),
    place text not null default ''
);

-- position: the last one drawn for this owner. The row is locked from a draw until the transaction
-- ends, so an owner's positions are in the order of commits (docs/adr/0018), and say nothing of how
-- much other owners write.
create table owners (owner text primary key, position bigint not null);

-- One row for each memory and for each erased one. extra: fields that only newer versions know.
-- edits: for each store its last edit that is in the memory, and the version it became.
create table changes (
    owner text not null,
    memory_id uuid not null,
    position bigint not null,
    erased_at timestamptz,
    extra jsonb not null default '{}',
    edits jsonb not null default '{}',
    primary key (owner, memory_id)
);

create index changes_reading on changes (owner, position);

-- The losing sides of conflicts.
create table revisions (
    owner text not null,
    id uuid not null,
    memory_id uuid not null,
    kind text not null,
    fields jsonb not null,
    made_at timestamptz not null,
    resolved_at timestamptz,
    position bigint not null,
    primary key (owner, id)
);

create index revisions_reading on revisions (owner, position);

create index revisions_of on revisions (owner, memory_id);

-- Draw as many positions; returns the last of them. Drawing none only locks.
create function recollect_draw(whose text, many bigint) returns bigint language plpgsql as $$
declare
    drawn bigint;
begin
    insert into owners as o (owner, position) values (whose, many)
    on conflict (owner) do update set position = o.position + excluded.position
    returning o.position into drawn;
    return drawn;
end
$$;

create function recollect_change_added() returns trigger language plpgsql as $$
begin
    with drawn as materialized (
        select w.owner, recollect_draw(w.owner, w.many) - w.many as before
        from (select owner, count(*) as many from added group by owner order by owner) w
    )
    insert into changes (owner, memory_id, position)
    select a.owner, a.id, d.before + row_number() over (partition by a.owner order by a.id)
    from added a join drawn d on d.owner = a.owner
    on conflict (owner, memory_id) do update
    set position = excluded.position, erased_at = null;
    return null;
end
$$;

create function recollect_change_changed() returns trigger language plpgsql as $$
begin
    with drawn as materialized (
        select w.owner, recollect_draw(w.owner, w.many) - w.many as before
        from (select owner, count(*) as many from changed group by owner order by owner) w
    )
    update changes c set position = m.position
    from (
        select m.owner, m.id,
            d.before + row_number() over (partition by m.owner order by m.id) as position
        from changed m join drawn d on d.owner = m.owner
    ) m
    where c.owner = m.owner and c.memory_id = m.id;
    return null;
end
$$;

-- Nothing of the memory stays but its id: not its unknown fields, not the sides of its conflicts.
create function recollect_change_erased() returns trigger language plpgsql as $$
begin
    with drawn as materialized (
        select w.owner, recollect_draw(w.owner, w.many) - w.many as before
        from (select owner, count(*) as many from gone group by owner order by owner) w
    )
    update changes c
    set position = m.position, erased_at = now(), extra = '{}', edits = '{}'
    from (
        select m.owner, m.id,
            d.before + row_number() over (partition by m.owner order by m.id) as position
        from gone m join drawn d on d.owner = m.owner
    ) m
    where c.owner = m.owner and c.memory_id = m.id;
    delete from revisions r using gone m where r.owner = m.owner and r.memory_id = m.id;
    return null;
end
$$;

create function recollect_revised() returns trigger language plpgsql as $$
begin
    new.position := recollect_draw(new.owner, 1);
    return new;
end
$$;

create trigger changes_added after insert on memories referencing new table as added
for each statement execute function recollect_change_added();

-- Not when a memory is analyzed again: it is the same memory to every client.
create trigger changes_changed after update on memories referencing new table as changed
for each statement when (current_setting('recollect.analyzing', true) is distinct from 'on')
execute function recollect_change_changed();

create trigger changes_erased after delete on memories referencing old table as gone
for each statement execute function recollect_change_erased();

create trigger revisions_ordered before insert or update on revisions
for each row execute function recollect_revised();

-- compared_in: the space in which its name was compared with the others; null while it waits.
create table concepts (
    owner text not null,
    id uuid not null,
    key text not null,
    name text not null,
    kind text not null,
    compared_in integer,
    created_at timestamptz not null default now(),
    primary key (owner, id),
    constraint concepts_by_key unique (owner, key)
);

create index concepts_waiting on concepts (created_at) where compared_in is null;

-- Every form a concept is known by, its own key too. One that was edited by hand outlives the edits
-- of its memories, so that the decision still holds when the name comes back.
create table concept_names (
    owner text not null,
    key text not null,
    concept_id uuid not null,
    name text not null,
    is_mended boolean not null default false,
    primary key (owner, key),
    foreign key (owner, concept_id) references concepts (owner, id) on delete cascade
);

create index concept_names_of on concept_names (owner, concept_id);

create index concept_names_mended on concept_names (owner) where is_mended;

-- sensitive: always false, and part of the foreign key, so that Postgres itself refuses a row for a
-- sensitive memory and refuses to leave one behind. The same for evidence and extractions.
create table memory_concepts (
    owner text not null,
    memory_id uuid not null,
    key text not null,
    concept_id uuid not null,
    weight real not null default 1,
    sensitive boolean not null generated always as (false) stored,
    primary key (owner, memory_id, key),
    foreign key (owner, concept_id) references concepts (owner, id) on delete cascade,
    constraint mentions_by_what_may_leave foreign key (owner, memory_id, sensitive)
        references memories (owner, id, is_sensitive) on delete cascade
);

create index memory_concepts_of on memory_concepts (owner, concept_id, memory_id);

create index memory_concepts_by_key on memory_concepts (owner, key);

-- True from valid_from until valid_to; believed from learned_at until known_until.
-- stated_until: the end that a text names; a contradiction may make valid_to earlier.
create table concept_edges (
    owner text not null,
    id uuid not null,
    source uuid not null,
    target uuid not null,
    relation text not null,
    is_single boolean not null default false,
    weight real not null default 1,
    valid_from timestamptz not null,
    valid_to timestamptz,
    stated_until timestamptz,
    learned_at timestamptz not null,
    known_until timestamptz,
    primary key (owner, id),
    foreign key (owner, source) references concepts (owner, id) on delete cascade,
    foreign key (owner, target) references concepts (owner, id) on delete cascade
);

create index concept_edges_from on concept_edges (owner, source, relation, target);

create index concept_edges_to on concept_edges (owner, target);

-- source_key, target_key: the names that the memory used. After a merge or a split they say where
-- the edge belongs. said_from, said_until: the dates that the text names. Without any, the
-- statement holds since it was made; -infinity and not null, because it is part of the key.
create table edge_evidence (
    owner text not null,
    edge_id uuid not null,
    memory_id uuid not null,
    source_key text not null,
    target_key text not null,
    stated_at timestamptz not null,
    withdrawn_at timestamptz,
    said_from timestamptz not null default '-infinity',
    said_until timestamptz,
    starts_at timestamptz not null generated always as (
        case when said_from = '-infinity' then stated_at else said_from end) stored,
    sensitive boolean not null generated always as (false) stored,
    primary key (owner, edge_id, memory_id, source_key, target_key, said_from),
    foreign key (owner, edge_id) references concept_edges (owner, id) on delete cascade,
    constraint evidence_of_what_may_leave foreign key (owner, memory_id, sensitive)
        references memories (owner, id, is_sensitive) on delete cascade
);

create index edge_evidence_of on edge_evidence (owner, memory_id);

create index edge_evidence_from on edge_evidence (owner, source_key);

create index edge_evidence_to on edge_evidence (owner, target_key);

create table near_concepts (
    owner text not null,
    source uuid not null,
    target uuid not null,
    similarity real not null,
    primary key (owner, source, target),
    foreign key (owner, source) references concepts (owner, id) on delete cascade,
    foreign key (owner, target) references concepts (owner, id) on delete cascade
);

create index near_concepts_to on near_concepts (owner, target);

create table graph_versions (owner text primary key, version bigint not null);

-- One row for each memory that may be read. extracted_by is the reader's level: 0 before
-- the first. due_at: not claimed before; pushed on by a claim and by a failure, infinity when
-- parked.
-- answer: what a language model said of this very text, so that it is not asked again.
create table extractions (
    owner text not null,
    memory_id uuid not null,
    sensitive boolean not null generated always as (false) stored,
    content_hash bytea not null,
    extracted_by integer not null default 0,
    attempts integer not null default 0,
    due_at timestamptz not null default now(),
    last_error text,
    answer jsonb,
    answered_by text,
    primary key (owner, memory_id),
    constraint extractions_of_what_may_leave foreign key (owner, memory_id, sensitive)
        references memories (owner, id, is_sensitive) on delete cascade
);

create index extractions_pending on extractions (extracted_by, due_at);

create index extractions_answered on extractions (owner, content_hash) where answer is not null;

create table extraction_budget (
    day date primary key, calls integer not null default 0, tokens bigint not null default 0
);

-- In the database and not in a store's code, so that whatever changes or erases a memory, the graph
-- holds nothing of it afterwards.
-- What is read for the graph: another text, tag or keyword is another extraction.
create function recollect_extracted_text(content text, tags text[], keywords text[]) returns bytea
language sql immutable strict parallel safe
return sha256(convert_to(
    content || chr(31) || recollect_join(tags) || chr(31) || recollect_join(keywords), 'UTF8'));

-- One writer at a time per owner's graph; rows of memories are locked before. 5347 only keeps this
-- kind of lock apart from others.
create function recollect_graph_alone(whose text) returns void language sql volatile
return pg_advisory_xact_lock(5347, hashtext(whose));

-- The row is locked until the transaction ends: versions of one owner grow in commit order.
create function recollect_graph_grew(whose text) returns void language plpgsql as $$
begin
    insert into graph_versions as v (owner, version) values (whose, 1)
    on conflict (owner) do update set version = v.version + 1;
end
$$;

-- Names that no text uses any more are deleted, and with its last name a concept. One that was
-- edited by hand outlives an edit of the text but no erasure: which text it came from is not known
-- any more then, so all that no text uses now are deleted. A concept that loses the name it was
-- shown by is shown by another.
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
        delete from concepts c where c.owner = whose and c.id = any(touched)
            and not exists (
                select from concept_names n where n.owner = whose and n.concept_id = c.id);
        update concepts c set key = n.key, name = n.name
        from (
            select distinct on (concept_id) concept_id, key, name from concept_names
            where owner = whose and concept_id = any(touched)
            order by concept_id, is_mended desc, key
        ) n
        where c.owner = whose and c.id = n.concept_id and not exists (
            select from concept_names k
            where k.owner = whose and k.concept_id = c.id and k.key = c.key);
    end if;
end
$$;

-- After evidence came or went: an edge without any is deleted; one whose texts were all changed is
-- no longer believed. Its dates are those of what is still said, or else of what was: from the
-- first start until the last end that a text names, unless it is said to begin again after that.
create function recollect_graph_weigh(whose text, edges uuid[]) returns void
language plpgsql as $$
begin
    delete from concept_edges c where c.owner = whose and c.id = any(edges)
        and not exists (select from edge_evidence e where e.owner = whose and e.edge_id = c.id);
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
            from edge_evidence e where e.owner = whose and e.edge_id = any(edges)
            window w as (partition by e.edge_id)
        ) s
        where withdrawn_at is null or not is_held
        group by edge_id
    ) e
    where c.owner = whose and c.id = e.edge_id;
end
$$;

-- In a single-valued relation each edge ends where the next begins. One that leads back to where it
-- starts, because two names were merged, says nothing and ends nothing.
create function recollect_graph_settle(whose text, sources uuid[], relations text[]) returns void
language plpgsql as $$
begin
    with wanted as (
        select distinct source, relation from unnest(sources, relations) as w(source, relation)
    ), periods as (
        select c.id, lead(c.valid_from) over (
            partition by c.source, c.relation order by c.valid_from, c.learned_at, t.key, c.id)
            as next
        from concept_edges c join wanted using (source, relation)
        join concepts t on t.owner = whose and t.id = c.target
        where c.owner = whose and c.is_single and c.known_until is null and c.source <> c.target
    )
    update concept_edges c set valid_to = least(c.stated_until, p.next)
    from periods p
    where c.owner = whose and c.id = p.id
        and c.valid_to is distinct from least(c.stated_until, p.next);
end
$$;

-- Of a memory that is erased or becomes sensitive nothing stays.
create function recollect_graph_left(whose text, memory uuid) returns void language plpgsql as $$
declare
    keys text[];
begin
    if not exists (select from memory_concepts m where m.owner = whose and m.memory_id = memory)
        and not exists (select from edge_evidence e where e.owner = whose and e.memory_id = memory)
        and not exists (select from concept_names n where n.owner = whose and n.is_mended) then
        return;
    end if;
    perform recollect_graph_alone(whose);
    select coalesce(array_agg(key), '{}') into keys from (
        select m.key from memory_concepts m where m.owner = whose and m.memory_id = memory
        union select e.source_key from edge_evidence e
        where e.owner = whose and e.memory_id = memory
        union select e.target_key from edge_evidence e
        where e.owner = whose and e.memory_id = memory
    ) k;
    delete from edge_evidence e where e.owner = whose and e.memory_id = memory;
    delete from memory_concepts m where m.owner = whose and m.memory_id = memory;
    perform recollect_graph_tidy(whose, keys, true);
    perform recollect_graph_grew(whose);
end
$$;

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
$$;

create trigger graph_added after insert on memories referencing new table as added
for each statement execute function recollect_graph_added();

-- Before the change: afterwards the foreign keys would have refused it already. When a memory is
-- edited its evidence stays, as what was once said.
create function recollect_graph_outdated() returns trigger language plpgsql as $$
begin
    if exists (select from memory_concepts where owner = old.owner and memory_id = old.id)
        or exists (select from edge_evidence where owner = old.owner and memory_id = old.id) then
        perform recollect_graph_alone(old.owner);
    end if;
    delete from extractions where owner = old.owner and memory_id = old.id;
    if new.is_sensitive then
        perform recollect_graph_left(old.owner, old.id);
    else
        update edge_evidence set withdrawn_at = now()
        where owner = old.owner and memory_id = old.id and withdrawn_at is null;
        delete from memory_concepts where owner = old.owner and memory_id = old.id;
    end if;
    return new;
end
$$;

create trigger graph_outdated
before update of content, tags, expanded_keywords, is_sensitive, deleted_at on memories
for each row when (
    old.content <> new.content or old.tags <> new.tags or old.is_sensitive <> new.is_sensitive
    or old.expanded_keywords <> new.expanded_keywords
    or (old.deleted_at is null) <> (new.deleted_at is null)
) execute function recollect_graph_outdated();

create function recollect_graph_changed() returns trigger language plpgsql as $$
begin
    insert into extractions (memory_id, owner, content_hash)
    values (new.id, new.owner,
        recollect_extracted_text(new.content, new.tags, new.expanded_keywords));
    perform pg_notify('recollect_graph', '');
    return null;
end
$$;

create trigger graph_changed
after update of content, tags, expanded_keywords, is_sensitive, deleted_at on memories
for each row when ((
    old.content <> new.content or old.tags <> new.tags or old.is_sensitive <> new.is_sensitive
    or old.expanded_keywords <> new.expanded_keywords
    or (old.deleted_at is null) <> (new.deleted_at is null)
) and not new.is_sensitive and new.deleted_at is null)
execute function recollect_graph_changed();

create function recollect_graph_erasing() returns trigger language plpgsql as $$
begin
    perform recollect_graph_left(old.owner, old.id);
    return old;
end
$$;

create trigger graph_erasing before delete on memories
for each row execute function recollect_graph_erasing();

create function recollect_graph_unmentioned() returns trigger language plpgsql as $$
begin
    perform recollect_graph_tidy(g.owner, g.keys, false), recollect_graph_grew(g.owner)
    from (select owner, array_agg(distinct key) as keys from gone group by owner) g;
    return null;
end
$$;

create trigger graph_unmentioned after delete on memory_concepts referencing old table as gone
for each statement execute function recollect_graph_unmentioned();

create function recollect_graph_unsaid() returns trigger language plpgsql as $$
declare
    touched record;
    sources uuid[];
    relations text[];
begin
    for touched in
        select g.owner, array_agg(distinct g.edge_id) as edges,
            array_agg(distinct g.source_key) || array_agg(distinct g.target_key) as keys
        from gone g group by g.owner order by g.owner
    loop
        select array_agg(c.source), array_agg(c.relation) into sources, relations
        from concept_edges c
        where c.owner = touched.owner and c.id = any(touched.edges) and c.is_single;
        perform recollect_graph_weigh(touched.owner, touched.edges);
        perform recollect_graph_settle(touched.owner, sources, relations);
        perform recollect_graph_tidy(touched.owner, touched.keys, false);
        perform recollect_graph_grew(touched.owner);
    end loop;
    return null;
end
$$;

create trigger graph_unsaid after delete on edge_evidence referencing old table as gone
for each statement execute function recollect_graph_unsaid();

create trigger graph_withdrawn after update on edge_evidence referencing new table as gone
for each statement execute function recollect_graph_unsaid();

-- Which memories were recalled, and since when that is recorded.
create table recalls (
    owner text not null,
    memory_id uuid not null,
    recalled_at timestamptz not null,
    times integer not null,
    primary key (owner, memory_id),
    foreign key (owner, memory_id) references memories (owner, id) on delete cascade
);

create table recalls_kept (since timestamptz not null, single boolean unique default true);

insert into recalls_kept (since) values (now());

-- A pair of memories has one proposal. The versions are those that were compared: when one of them
-- is no longer current, an undecided proposal is void, and the pair may be proposed again.
-- sensitive: as for the graph, no proposal is about a sensitive memory.
create table proposals (
    owner text not null,
    id uuid not null,
    kind text not null,
    newer uuid not null,
    older uuid not null,
    newer_version integer not null,
    older_version integer not null,
    newer_quote text not null,
    older_quote text not null,
    reason text not null,
    confidence double precision not null check (confidence between 0 and 1),
    decided_by text not null,
    created_at timestamptz not null,
    state text not null check (state in ('open', 'later', 'accepted', 'rejected')),
    sensitive boolean not null generated always as (false) stored,
    primary key (owner, id),
    constraint one_proposal_a_pair unique (owner, newer, older),
    constraint newer_may_be_quoted foreign key (owner, newer, sensitive)
        references memories (owner, id, is_sensitive) on delete cascade,
    constraint older_may_be_quoted foreign key (owner, older, sensitive)
        references memories (owner, id, is_sensitive) on delete cascade
);

create index proposals_of_older on proposals (owner, older);

-- Before the change: afterwards the foreign keys would have refused it already.
create function recollect_proposals_hidden() returns trigger language plpgsql as $$
begin
    delete from proposals where owner = old.owner and newer = old.id;
    delete from proposals where owner = old.owner and older = old.id;
    return new;
end
$$;

create trigger proposals_hidden before update of is_sensitive on memories for each row
when (new.is_sensitive and not old.is_sensitive) execute function recollect_proposals_hidden();

-- Accepted proposals. addition: what the survivor gained besides its link, for undo.
create table curation_journal (
    owner text not null,
    id uuid not null,
    proposal uuid not null,
    kind text not null,
    survivor uuid not null,
    superseded uuid not null,
    addition jsonb not null,
    accepted_by text not null,
    accepted_at timestamptz not null,
    undone_at timestamptz,
    primary key (owner, id),
    foreign key (owner, survivor) references memories (owner, id) on delete cascade,
    foreign key (owner, superseded) references memories (owner, id) on delete cascade
);

create index curation_journal_of on curation_journal (owner, survivor);

create index curation_journal_about on curation_journal (owner, superseded);

-- Up to which position of `changes` an owner's memories were examined.
create table curation_progress (owner text primary key, position bigint not null);

-- How often the language model was asked, by day.
create table curation_budget (day date primary key, calls integer not null);

-- Not keyed by owner: a key is found by its digest, before it is known whose it is.
create table keys (
    id uuid primary key,
    owner text not null,
    digest bytea not null unique,
    label text not null,
    role text not null check (role in ('read-only', 'member', 'admin')),
    project text,
    created_at timestamptz not null,
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz
);

create table settings (name text primary key, value jsonb not null);

-- Who changed which setting. old_value is null where the default was in force.
create table settings_audit (
    number bigint generated always as identity primary key,
    name text not null,
    old_value jsonb,
    new_value jsonb not null,
    changed_by text not null,
    changed_at timestamptz not null
);

-- How far into each erasure log this database is: a restored one is behind.
create table erasure_logs (log uuid primary key, applied bigint not null);

-- The second barrier (docs/adr/0040): a transaction sees the rows of the owner it names, and
-- without a name none. Forced, so that it holds for the owner of the tables as well. What workers
-- and administration may see besides is granted by `access.py`, which knows the names of the roles.
do $$
declare
    name text;
begin
    foreach name in array array[
        'memories', 'lexeme_stats', 'memory_links', 'memory_versions', 'owners', 'changes',
        'revisions', 'concepts', 'concept_names', 'memory_concepts', 'concept_edges',
        'edge_evidence', 'near_concepts', 'graph_versions', 'extractions', 'recalls',
        'proposals', 'curation_journal', 'curation_progress', 'keys'
    ] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format($policy$
            create policy own_rows on %I using (owner = current_setting('recollect.owner', true))
        $policy$, name);
    end loop;
end $$;

-- Under a policy Postgres checks the owner of a row before it calls any function that is not
-- leakproof, and then it cannot use an index on such a function: neither that of the words nor
-- those of a text's hash and length. Through this view it can. It reads the table as the view's
-- owner, and the condition is in the view itself.
create view own_memories as
select * from memories where owner = current_setting('recollect.owner', true);
