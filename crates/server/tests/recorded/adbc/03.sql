SELECT datname FROM pg_catalog.pg_database
