SELECT 'now'::pg_catalog.regproc::pg_catalog.oid
