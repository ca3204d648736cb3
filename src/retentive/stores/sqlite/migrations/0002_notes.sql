-- Small named records of a scope that change together with its memories. A scope's row stays while it has notes.
CREATE TABLE notes (
    scope_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (scope_id, name)
) WITHOUT ROWID;

-- A Retentive that knows no notes may still have the file open, and a scope's number is given again.
CREATE TRIGGER notes_go_with_their_scope AFTER DELETE ON scopes BEGIN
    DELETE FROM notes WHERE scope_id = old.scope_id;
END;
