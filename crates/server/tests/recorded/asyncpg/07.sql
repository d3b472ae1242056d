select null::int4range[], null::people
