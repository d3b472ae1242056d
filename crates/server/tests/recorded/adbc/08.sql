SELECT datname FROM pg_catalog.pg_database WHERE datname = 'health'
