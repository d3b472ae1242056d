SELECT reltuples, relpages, pg_relation_size(oid) AS size, pg_total_relation_size(oid) AS total FROM pg_catalog.pg_class WHERE relname = 'people'
