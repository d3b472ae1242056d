select pg_catalog.version()
