-- The former names of projects (docs/adr/0063). waits: the server was not told yet.
CREATE TABLE former_names (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    project TEXT NOT NULL,
    waits INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
