-- A trigger may ask only for rows of its own shard, and a statement that reads a transition table
-- cannot be sent to one. So where a trigger is called once for all rows of a statement, on a cluster
-- one is called for each row, which names the owner in every statement.
create or replace function recollect_row_change_added() returns trigger language plpgsql as $$
declare
    drawn bigint := recollect_draw(new.owner, 1);
begin
    insert into changes (owner, memory_id, position) values (new.owner, new.id, drawn);
    return null;
end
$$;

create or replace function recollect_row_change_changed() returns trigger language plpgsql as $$
declare
    drawn bigint := recollect_draw(new.owner, 1);
begin
    update changes set position = drawn where owner = new.owner and memory_id = new.id;
    return null;
end
$$;

create or replace function recollect_row_change_erased() returns trigger language plpgsql as $$
declare
    drawn bigint := recollect_draw(old.owner, 1);
    salt bytea;
begin
    select o.salt into salt from owners o where o.owner = old.owner;
    update changes set position = drawn, erased_at = now(), extra = '{}', edits = '{}',
        project_mark = recollect_fingerprint(salt, old.project, '')
    where owner = old.owner and memory_id = old.id;
    delete from revisions where owner = old.owner and memory_id = old.id;
    return null;
end
$$;

create or replace function recollect_row_graph_unmentioned() returns trigger language plpgsql as $$
begin
    perform recollect_graph_tidy(old.owner, array[old.key], false);
    perform recollect_graph_grew(old.owner);
    return null;
end
$$;

create or replace function recollect_row_graph_unsaid() returns trigger language plpgsql as $$
declare
    said record := coalesce(new, old);
    sources uuid[];
    relations text[];
begin
    select array_agg(c.source), array_agg(c.relation) into sources, relations from concept_edges c
    where c.owner = said.owner and c.id = said.edge_id and c.is_single;
    perform recollect_graph_weigh(said.owner, array[said.edge_id]);
    perform recollect_graph_settle(said.owner, sources, relations);
    perform recollect_graph_tidy(said.owner, array[said.source_key, said.target_key], false);
    perform recollect_graph_grew(said.owner);
    return null;
end
$$;
