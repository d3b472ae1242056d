select relacl, oid from pg_class where relname='people'
