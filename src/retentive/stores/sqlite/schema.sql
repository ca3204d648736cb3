CREATE TABLE scopes (
    scope_id INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    user_id TEXT,
    complete_after INTEGER NOT NULL     -- changes after this position can be told one by one
);

CREATE UNIQUE INDEX scopes_by_name ON scopes (namespace, coalesce(user_id, ''));

CREATE TABLE memories (
    place INTEGER PRIMARY KEY,
    scope_id INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    text_key BLOB,
    key TEXT,
    near TEXT,
    embedder TEXT,
    packed BLOB NOT NULL,
    vector BLOB,
    item TEXT NOT NULL,                 -- the whole memory as JSON
    content TEXT GENERATED ALWAYS AS (json_extract(item, '$.content')) VIRTUAL
);

CREATE UNIQUE INDEX memories_by_id ON memories (scope_id, id);

CREATE UNIQUE INDEX memories_by_text ON memories (scope_id, kind, text_key) WHERE text_key IS NOT NULL;

CREATE UNIQUE INDEX memories_by_key ON memories (scope_id, key) WHERE key IS NOT NULL;

CREATE INDEX memories_by_near ON memories (scope_id, near) WHERE near IS NOT NULL;

CREATE TABLE gone (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL
);

CREATE TABLE floor (position INTEGER NOT NULL);

CREATE TABLE notes (
    scope_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (scope_id, name)
) WITHOUT ROWID;

CREATE TRIGGER notes_go_with_their_scope AFTER DELETE ON scopes BEGIN
    DELETE FROM notes WHERE scope_id = old.scope_id;
END;
