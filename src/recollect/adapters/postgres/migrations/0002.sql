-- What was erased, forgotten or replaced by another text, so that an older copy does not bring it
-- back: a resumed session, an old export, a client that was away. A fingerprint cannot be read; with
-- the salt of its owner, only someone who knows a text already can tell that it was here.
alter table owners
add column salt bytea not null default sha256(uuid_send(gen_random_uuid()));

create table removed_texts (
    owner text not null,
    fingerprint bytea not null,
    removed_at timestamptz not null,
    primary key (owner, fingerprint)
);

-- Case, spaces and punctuation do not count (core/memory/duplicates.py).
create function recollect_fingerprint(salt bytea, project text, content text) returns bytea
language sql immutable parallel safe
return substring(
    sha256(salt || convert_to(
        coalesce(project, '') || chr(31)
        || regexp_replace(
            lower(normalize(content, NFKC)),
            '[\s!-/:-@\[-`{-~\u00a0-\u00bf\u200b-\u206f\u3000-\u3003\u3008-\u3011\u30fb\ufeff]+',
            '', 'g'),
        'UTF8'))
    for 16);

-- What is forgotten already. The owner of a table sees its rows only if its policies are not forced.
alter table memories no force row level security;
alter table owners no force row level security;
insert into removed_texts (owner, fingerprint, removed_at)
select m.owner, recollect_fingerprint(o.salt, m.project, m.content), max(m.deleted_at)
from memories m join owners o on o.owner = m.owner
where m.deleted_at is not null and m.category <> 'episode'
group by 1, 2;
alter table memories force row level security;
alter table owners force row level security;

alter table removed_texts enable row level security;
alter table removed_texts force row level security;
create policy own_rows on removed_texts using (owner = current_setting('recollect.owner', true));

create function recollect_text_removed() returns trigger language plpgsql as $$
declare
    salt bytea;
begin
    select o.salt into salt from owners o where o.owner = old.owner;
    if tg_op = 'DELETE' or old.deleted_at is null then
        insert into removed_texts as r (owner, fingerprint, removed_at)
        values (
            old.owner,
            recollect_fingerprint(salt, old.project, old.content),
            case when tg_op = 'DELETE' then coalesce(old.deleted_at, now())
                else coalesce(new.deleted_at, new.updated_at) end
        )
        on conflict (owner, fingerprint) do update
        set removed_at = greatest(r.removed_at, excluded.removed_at);
    end if;
    if tg_op = 'UPDATE' and new.deleted_at is null then
        delete from removed_texts r
        where r.owner = new.owner
            and r.fingerprint = recollect_fingerprint(salt, new.project, new.content);
    end if;
    return null;
end
$$;

-- A turn of a conversation may be said twice.
create trigger texts_erased after delete on memories for each row
when (old.category <> 'episode') execute function recollect_text_removed();

create trigger texts_changed after update on memories for each row
when (
    old.category <> 'episode'
    and (old.content, old.project, old.deleted_at is null)
        is distinct from (new.content, new.project, new.deleted_at is null)
)
execute function recollect_text_removed();

-- An erased id stays erased: a memory that is stored under it again violates the key of `changes`.
-- project_mark: for an erased memory a fingerprint of its project, so that a key which is limited to
-- another project does not learn of it.
alter table changes add column project_mark bytea;

create or replace function recollect_change_added() returns trigger language plpgsql as $$
begin
    with drawn as materialized (
        select w.owner, recollect_draw(w.owner, w.many) - w.many as before
        from (select owner, count(*) as many from added group by owner order by owner) w
    )
    insert into changes (owner, memory_id, position)
    select a.owner, a.id, d.before + row_number() over (partition by a.owner order by a.id)
    from added a join drawn d on d.owner = a.owner;
    return null;
end
$$;

create or replace function recollect_change_erased() returns trigger language plpgsql as $$
begin
    with drawn as materialized (
        select w.owner, recollect_draw(w.owner, w.many) - w.many as before
        from (select owner, count(*) as many from gone group by owner order by owner) w
    )
    update changes c
    set position = m.position, erased_at = now(), extra = '{}', edits = '{}',
        project_mark = m.project_mark
    from (
        select m.owner, m.id, recollect_fingerprint(o.salt, m.project, '') as project_mark,
            d.before + row_number() over (partition by m.owner order by m.id) as position
        from gone m join drawn d on d.owner = m.owner join owners o on o.owner = m.owner
    ) m
    where c.owner = m.owner and c.memory_id = m.id;
    delete from revisions r using gone m where r.owner = m.owner and r.memory_id = m.id;
    return null;
end
$$;
