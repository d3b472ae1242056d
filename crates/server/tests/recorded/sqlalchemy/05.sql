SELECT pg_catalog.pg_namespace.nspname 
FROM pg_catalog.pg_namespace 
WHERE pg_catalog.pg_namespace.nspname = 'public'::VARCHAR
