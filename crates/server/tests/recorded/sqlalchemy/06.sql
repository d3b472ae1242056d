SELECT pg_catalog.pg_namespace.nspname 
FROM pg_catalog.pg_namespace 
WHERE (pg_catalog.pg_namespace.nspname NOT LIKE 'pg/_'::VARCHAR || '%' ESCAPE '/') ORDER BY pg_catalog.pg_namespace.nspname
