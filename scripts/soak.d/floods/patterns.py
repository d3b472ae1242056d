"""Statements to the system catalogs whose time grows with the square of a text that they make themselves."""

import asyncio

LANES = 2
PAUSE = 0.2
STATEMENTS = [
    "SELECT 1 WHERE repeat('a', 200000) LIKE '%' || repeat('a', 100000) || 'b'",
    "SELECT 1 WHERE repeat('ab', 100000) ILIKE '%' || repeat('ab', 20000) || 'c%'",
    "SELECT count(*) FROM pg_class WHERE repeat('a', 300000) LIKE '%' || repeat('a', 3000) || 'b'",
    "SELECT length(regexp_replace(repeat('a', 300000), 'a+b|a', 'c', 'g'))",
    "SELECT count(*) FROM pg_attribute WHERE repeat('a', 100000) || attname ~ 'a.*b.*c'",
    "SELECT count(*) FROM pg_attribute a, pg_type t WHERE repeat(a.attname, 5000) LIKE '%' || repeat(t.typname, 50) || 'z'",
]


async def attack(target, lane):
    connection = await target.signed_in(lane)
    try:
        target.counts["statements"] += 1
        await asyncio.wait_for(connection.query(target.random.choice(STATEMENTS)), 60)
    finally:
        connection.close()
