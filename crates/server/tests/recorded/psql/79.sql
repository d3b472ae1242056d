SELECT pg_catalog.pg_get_functiondef(1299)
