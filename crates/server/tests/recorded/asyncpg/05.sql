select * from pg_type limit 1
