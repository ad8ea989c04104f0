-- Vectors, where pgvector can be used: a Postgres without it is a server, too.
--
-- Nothing here computes with a vector: on some processors that would crash the whole server.
--
-- After the first release this script never changes.

-- swept_owner, swept_to: up to which memory, by owner and id, the space's missing rows were added;
-- swept_to is null when all were.
-- opened_in: a memory written by a transaction older than this one may not know of the space.
-- opened_at: the same for a Citus cluster, whose nodes number transactions each by itself.
-- is_former: the space that `recollect reembed --rollback` goes back to. Not every retired space
-- is: another may be left by a cancellation that was killed half way.
-- collection: the space's copy in Qdrant, where that is the engine of the search.
create table spaces (
    id integer generated always as identity primary key,
    embedder text not null,
    model text not null,
    revision text not null,
    dimension integer not null check (dimension between 1 and 4000),
    distance text not null check (distance = 'cosine'),
    query_instruction text not null,
    languages text[] not null,
    state text not null check (state in ('filling', 'active', 'retired')),
    is_former boolean not null default false,
    collection text,
    created_at timestamptz not null default now(),
    opened_in xid8 not null default pg_current_xact_id(),
    opened_at timestamptz not null default now(),
    last_error text,
    swept_owner text not null default '',
    swept_to uuid default '00000000-0000-0000-0000-000000000000',
    constraint spaces_identity unique (model, revision, dimension, distance)
);

create unique index spaces_active on spaces ((true)) where state = 'active';

create unique index spaces_former on spaces ((true)) where is_former;

-- One row for each passage of a text; most texts have one. A row without a vector is a job, always
-- of the first passage, number 0: the others are added with their vectors, and hold no other
-- memory's words. start_char, end_char: null where the text is a single passage.
-- The foreign key carries a column that is always false, so that Postgres itself refuses a row for
-- a sensitive memory, and refuses to leave one behind.
-- There is none to spaces: every store call would lock the one row that all of them share.
-- due_at: not claimed before; pushed on by a claim and by a failure, infinity when parked.
-- context_hash: of the turns before that are embedded with a turn.
create table embeddings (
    owner text not null,
    memory_id uuid not null,
    space_id integer not null,
    passage smallint not null default 0,
    sensitive boolean not null generated always as (false) stored,
    start_char integer,
    end_char integer,
    content_hash bytea,
    context_hash bytea,
    attempts integer not null default 0,
    due_at timestamptz not null default now(),
    last_error text,
    vector halfvec,
    primary key (owner, memory_id, space_id, passage),
    constraint jobs_are_of_texts check (case when passage = 0 then content_hash is not null
        else vector is not null end),
    constraint embeddings_of_what_may_leave foreign key (owner, memory_id, sensitive)
        references memories (owner, id, is_sensitive) on delete cascade
);

-- Vectors of more than about 1,000 numbers would be moved out of the row, and an exact search would
-- fetch each of them from a second table; beside such a vector even the hashes would be moved out.
alter table embeddings alter column vector set storage main,
    alter column content_hash set storage plain,
    alter column context_hash set storage plain;

-- Which owners have long texts, and how many vectors these add.
create index embeddings_passages on embeddings (space_id, owner) where passage > 0;

create index embeddings_pending on embeddings (space_id, due_at) where vector is null;

-- Each function first checks whether there is a space at all: a transaction that has not touched
-- the table of vectors does not block building the first space's index.
create function recollect_embed_added() returns trigger language plpgsql as $$
begin
    if exists (select from spaces where state <> 'retired') then
        insert into embeddings (owner, memory_id, space_id, content_hash)
        select m.owner, m.id, s.id, sha256(convert_to(m.content, 'UTF8'))
        from added m cross join spaces s
        where s.state <> 'retired' and not m.is_sensitive and m.deleted_at is null;
        if found then
            perform pg_notify('recollect_embeddings', '');
        end if;
    end if;
    return null;
end
$$;

create trigger embeddings_added after insert on memories referencing new table as added
for each statement execute function recollect_embed_added();

-- Before the change: afterwards the foreign key would have refused it already.
create function recollect_embed_outdated() returns trigger language plpgsql as $$
begin
    if exists (select from spaces) then
        delete from embeddings where owner = old.owner and memory_id = old.id;
    end if;
    return new;
end
$$;

create trigger embeddings_outdated before update of content, is_sensitive, deleted_at on memories
for each row when (
    old.content <> new.content or old.is_sensitive <> new.is_sensitive
    or (old.deleted_at is null) <> (new.deleted_at is null)
) execute function recollect_embed_outdated();

-- The conflict is a row that a sweep added for the old text between the two triggers.
create function recollect_embed_changed() returns trigger language plpgsql as $$
declare
    space record;
begin
    for space in select s.id from spaces s where s.state <> 'retired' loop
        insert into embeddings (owner, memory_id, space_id, content_hash)
        values (new.owner, new.id, space.id, sha256(convert_to(new.content, 'UTF8')))
        on conflict (owner, memory_id, space_id, passage) do update
        set content_hash = excluded.content_hash, vector = null, attempts = 0,
            due_at = excluded.due_at, last_error = null;
        perform pg_notify('recollect_embeddings', '');
    end loop;
    return null;
end
$$;

create trigger embeddings_changed after update of content, is_sensitive, deleted_at on memories
for each row when ((
    old.content <> new.content or old.is_sensitive <> new.is_sensitive
    or (old.deleted_at is null) <> (new.deleted_at is null)
) and not new.is_sensitive and new.deleted_at is null)
execute function recollect_embed_changed();

-- The token vectors of a passage, beside its vector: there only as long as that row is, so never
-- for a sensitive memory. Not in the row itself: an exact search reads every vector, and would have
-- to step over ten times as much.
create table token_vectors (
    owner text not null,
    memory_id uuid not null,
    space_id integer not null,
    passage smallint not null,
    block bytea not null,
    primary key (owner, memory_id, space_id, passage),
    foreign key (owner, memory_id, space_id, passage)
        references embeddings (owner, memory_id, space_id, passage) on delete cascade
);

-- They do not get smaller.
alter table token_vectors alter column block set storage external;

-- A turn of a conversation is embedded with the turns before it: whose words are in whose vector.
-- What a vector holds of another memory is removed when that one is edited, forgotten, erased or
-- becomes sensitive, in the same transaction, by the trigger below. The foreign key backs it up for
-- what is erased or becomes sensitive.
create table embedding_context (
    owner text not null,
    memory_id uuid not null,
    space_id integer not null,
    before_id uuid not null,
    passage smallint not null generated always as (0) stored,
    sensitive boolean not null generated always as (false) stored,
    primary key (owner, memory_id, space_id, before_id),
    foreign key (owner, memory_id, space_id, passage)
        references embeddings (owner, memory_id, space_id, passage) on delete cascade,
    constraint embedding_context_of_what_may_leave foreign key (owner, before_id, sensitive)
        references memories (owner, id, is_sensitive)
);

create index embedding_context_before on embedding_context (owner, before_id);

-- When many projects have a session of one name, the last two turns of one may be thousands back.
-- Not the project itself: `is not distinct from`, which a turn without a project needs, uses no
-- index. No project has an empty name.
create index memories_turns
on memories (owner, session, coalesce(project, ''), created_at desc, id desc)
where category = 'episode' and deleted_at is null;

-- The lock is the one that every change of a memory takes a little later anyway (recollect_draw):
-- without it two transactions that change neighbours would wait for each other's rows. The rows of
-- vectors are locked before they are written, as a claim does it, and each is written only once:
-- for a second write Postgres would check its memory again, which may be locked by a transaction
-- that waits for us.
-- moved: a turn that moved, and the two after it where it is now, as far as they are short
-- (core/recall/space.py). The mark of one zero byte is the hash of no words: a vector that is being
-- made meanwhile is refused, also that of a turn alone, until a claim replaces the mark.
create function recollect_embed_context() returns trigger language plpgsql as $$
declare
    moved uuid[] := '{}';
    holding uuid[];
begin
    if old.category <> 'episode' then
        return coalesce(new, old);
    end if;
    perform recollect_draw(old.owner, 0);
    if tg_op = 'UPDATE' and (old.session, old.project) is distinct from (new.session, new.project)
        and new.category = 'episode' and new.deleted_at is null and not new.is_sensitive
        and char_length(new.content) <= 300
    then
        moved := old.id || array(
            select m.id from (
                select a.id, a.content from memories a
                where a.owner = new.owner and a.session = new.session
                    and coalesce(a.project, '') = coalesce(new.project, '')
                    and a.category = 'episode' and a.deleted_at is null
                    and (a.created_at, a.id) > (new.created_at, new.id)
                order by a.created_at, a.id
                limit 2
            ) m
            where char_length(m.content) <= 300);
    end if;
    holding := array(
        select c.memory_id from embedding_context c
        where c.owner = old.owner and c.before_id = old.id);
    perform from embeddings e
    where e.owner = old.owner and e.memory_id = any(old.id || moved || holding) and e.passage = 0
    order by e.memory_id, e.space_id
    for update;
    with concerned as materialized (
        select memory_id, space_id from embedding_context
        where owner = old.owner and (before_id = old.id or memory_id = old.id)
        union
        select memory_id, space_id from embeddings
        where owner = old.owner and memory_id = any(moved) and passage = 0
    ), gone as (
        delete from embedding_context c using concerned
        where c.owner = old.owner and c.memory_id = concerned.memory_id
            and c.space_id = concerned.space_id
    ), gone_tokens as (
        delete from token_vectors t using concerned
        where t.owner = old.owner and t.memory_id = concerned.memory_id
            and t.space_id = concerned.space_id
    )
    update embeddings e set vector = null, context_hash = '\x00', attempts = 0, due_at = now(),
        last_error = null
    from concerned
    where e.owner = old.owner and e.memory_id = concerned.memory_id
        and e.space_id = concerned.space_id and e.passage = 0
        and e.context_hash is distinct from '\x00';
    if found then
        perform pg_notify('recollect_embeddings', '');
    end if;
    return coalesce(new, old);
end
$$;

create trigger embeddings_context_changed
before update of content, is_sensitive, deleted_at, category, session, project on memories
for each row when (
    old.content <> new.content or old.is_sensitive <> new.is_sensitive
    or (old.deleted_at is null) <> (new.deleted_at is null)
    or old.category <> new.category or old.session is distinct from new.session
    or old.project is distinct from new.project
) execute function recollect_embed_context();

create trigger embeddings_context_erased before delete on memories
for each row execute function recollect_embed_context();

-- What Qdrant does not know yet. A row says that the vectors or the scope of a memory changed; it
-- is written in the same transaction as the change, and removed after Qdrant has confirmed what is
-- there now. Rows are only added: a change never waits for the process that sends them.
-- memory_id: null for a collection that is to be dropped.
create table vector_outbox (
    owner text not null,
    id uuid not null default gen_random_uuid(),
    collection text not null,
    memory_id uuid,
    primary key (owner, id)
);

create index vector_outbox_memory on vector_outbox (owner, collection, memory_id);

create function recollect_outbox_vector() returns trigger language plpgsql as $$
declare
    changed record := coalesce(new, old);
    space record;
begin
    for space in
        select s.collection from spaces s
        where s.id = changed.space_id and s.collection is not null
    loop
        insert into vector_outbox (owner, collection, memory_id)
        values (changed.owner, space.collection, changed.memory_id);
        perform pg_notify('recollect_vectors', '');
    end loop;
    return null;
end
$$;

create trigger outbox_added after insert on embeddings
for each row when (new.vector is not null) execute function recollect_outbox_vector();

create trigger outbox_changed after update of vector on embeddings
for each row when (old.vector is not null or new.vector is not null)
execute function recollect_outbox_vector();

create trigger outbox_removed after delete on embeddings
for each row when (old.vector is not null) execute function recollect_outbox_vector();

create function recollect_outbox_moved() returns trigger language plpgsql as $$
declare
    space record;
begin
    for space in select s.collection from spaces s where s.collection is not null loop
        insert into vector_outbox (owner, collection, memory_id)
        values (new.owner, space.collection, new.id);
        perform pg_notify('recollect_vectors', '');
    end loop;
    return null;
end
$$;

create trigger outbox_moved after update of project, session, category, tags on memories
for each row when (
    (old.project, old.session, old.category, old.tags)
        is distinct from (new.project, new.session, new.category, new.tags)
) execute function recollect_outbox_moved();

-- The vectors of concepts' names. No foreign key to spaces, as above; the rows of a space that is
-- given up are removed when the next one is filled.
create table concept_vectors (
    owner text not null,
    concept_id uuid not null,
    space_id integer not null,
    vector halfvec not null,
    primary key (owner, concept_id, space_id),
    foreign key (owner, concept_id) references concepts (owner, id) on delete cascade
);

-- As in 0001.sql.
do $$
declare
    name text;
begin
    foreach name in array array[
        'embeddings', 'token_vectors', 'embedding_context', 'vector_outbox',
        'concept_vectors'
    ] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format($policy$
            create policy own_rows on %I using (owner = current_setting('recollect.owner', true))
        $policy$, name);
    end loop;
end $$;
