-- name: find_scope
SELECT
    scope_id,
    max(
        coalesce((
            SELECT place FROM memories WHERE place BETWEEN scopes.scope_id << 32 AND scopes.scope_id << 32 | 4294967295
            ORDER BY place DESC LIMIT 1
        ), 0),
        coalesce((
            SELECT place FROM gone WHERE place BETWEEN scopes.scope_id << 32 AND scopes.scope_id << 32 | 4294967295
            ORDER BY place DESC LIMIT 1
        ), 0),
        complete_after
    ) & 4294967295 AS position,
    complete_after
FROM scopes WHERE namespace = ?1 AND coalesce(user_id, '') = coalesce(?2, '');

-- name: add_scope
INSERT INTO scopes (namespace, user_id, complete_after) SELECT ?1, ?2, position FROM floor
RETURNING scope_id, complete_after AS position, complete_after;

-- name: forget_before
UPDATE scopes SET complete_after = ?2 WHERE scope_id = ?1;

-- name: holds_anything
SELECT 1 WHERE EXISTS (SELECT 1 FROM memories WHERE place BETWEEN ?2 AND ?3)
    OR EXISTS (SELECT 1 FROM notes WHERE scope_id = ?1);

-- name: has_more_than
SELECT 1 FROM memories WHERE place > ?1 AND place <= ?2 LIMIT 1 OFFSET ?3;

-- name: drop_scope
DELETE FROM scopes WHERE scope_id = ?1;

-- name: raise_floor
UPDATE floor SET position = max(position, ?1);

-- name: list_scopes
SELECT user_id FROM scopes WHERE namespace = ?1 ORDER BY coalesce(user_id, '');

-- name: list_namespaces
SELECT DISTINCT namespace FROM scopes ORDER BY namespace;

-- name: delete_memory
DELETE FROM memories WHERE scope_id = ?1 AND id = ?2;

-- name: clear_near
UPDATE memories SET near = NULL, item = json_remove(item, '$.near')
WHERE scope_id = ?1 AND near IN (SELECT value FROM json_each(?2));

-- name: add_gone
INSERT INTO gone (place, id) VALUES (?1, ?2);

-- name: last_gone_too_many
SELECT place FROM gone WHERE place BETWEEN ?1 AND ?2 ORDER BY place DESC LIMIT 1 OFFSET ?3;

-- name: drop_gone
DELETE FROM gone WHERE place BETWEEN ?1 AND ?2;

-- name: kept_of
SELECT json_extract(item, '$.updated_at'), content = json_extract(?3, '$.content')
FROM memories WHERE scope_id = ?1 AND id = ?2;

-- name: update_memory
UPDATE memories SET
    place = ?1, kind = ?4, text_key = ?5, key = ?6, near = ?7, embedder = ?8, packed = ?9, vector = ?10, item = ?11
WHERE scope_id = ?2 AND id = ?3;

-- name: add_memory
INSERT INTO memories (place, scope_id, id, kind, text_key, key, near, embedder, packed, vector, item)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT DO NOTHING;

-- name: who_has_id
SELECT id FROM memories WHERE scope_id = ?1 AND id = ?2;

-- name: who_has_key
SELECT id FROM memories WHERE scope_id = ?1 AND key = ?2;

-- name: who_has_text
SELECT id FROM memories WHERE scope_id = ?1 AND kind = ?2 AND text_key = ?3;

-- name: get_memories
SELECT memories.id, memories.text_key, memories.key, packed, vector, item
FROM scopes
CROSS JOIN json_each(?3) AS asked
CROSS JOIN memories ON memories.scope_id = scopes.scope_id AND memories.id = asked.value
WHERE namespace = ?1 AND coalesce(user_id, '') = coalesce(?2, '');

-- name: count_in_copy
SELECT count(*) FROM scopes
CROSS JOIN json_each(?3) AS asked
CROSS JOIN memories ON memories.scope_id = scopes.scope_id AND memories.id = asked.value
WHERE namespace = ?1 AND (?4 OR coalesce(user_id, '') = coalesce(?2, ''));

-- name: list_ids
SELECT id FROM scopes CROSS JOIN memories ON memories.scope_id = scopes.scope_id
WHERE namespace = ?1 AND coalesce(user_id, '') = coalesce(?2, '')
ORDER BY id;

-- name: changed_since
SELECT id, packed, vector, embedder FROM memories WHERE place > ?1 AND place <= ?2 ORDER BY place;

-- name: gone_since
SELECT id FROM gone WHERE place > ?1 AND place <= ?2 ORDER BY place;

-- name: note_of
SELECT value FROM notes WHERE scope_id = ?1 AND name = ?2;

-- name: put_note
INSERT INTO notes (scope_id, name, value) VALUES (?1, ?2, ?3)
ON CONFLICT (scope_id, name) DO UPDATE SET value = excluded.value;

-- name: remove_note
DELETE FROM notes WHERE scope_id = ?1 AND name = ?2;

-- name: list_notes
SELECT name, value FROM scopes CROSS JOIN notes ON notes.scope_id = scopes.scope_id
WHERE namespace = ?1 AND coalesce(user_id, '') = coalesce(?2, '')
    AND name >= ?3 AND substr(name, 1, length(?3)) = ?3
ORDER BY name;
