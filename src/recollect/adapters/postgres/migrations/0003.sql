-- The former names of projects (docs/adr/0063).
create table former_names (
    owner text not null,
    name text not null,
    project text not null,
    primary key (owner, name)
);

alter table former_names enable row level security;
alter table former_names force row level security;
create policy own_rows on former_names using (owner = current_setting('recollect.owner', true));

-- What short ids are looked up by, through the view `own_memories`.
create index memories_ending on memories (owner, "right"(id::text, 4));
