SELECT t.oid, t.typname, t.typtype, e.typname AS element FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_type e ON t.typelem = e.oid WHERE t.typtype IN ('b', 'e') ORDER BY t.oid
