"""Explanations of questions with 400 columns, eight of them at once, hung up on after a second."""

import asyncio
import secrets

import web

LANES = 8
PAUSE = 0.5
COLUMNS = 400


async def attack(target, lane):
    reader, writer = await web.connect(target.ports["http"], target.source(lane), target.tls)
    try:
        more = secrets.randbelow(10**9)
        columns = ", ".join(f"SUM(age + {more + number}) AS s{number}" for number in range(COLUMNS))
        writer.write(target.post(lane, "/v1/explain", {"sql": f"SELECT {columns} FROM people", "epsilon": "0.1"}))
        await writer.drain()
        try:
            status = web.status_of((await asyncio.wait_for(reader.readline(), 1)).decode("latin-1"))
            target.counts[str(status)] += 1
        except asyncio.TimeoutError:
            target.counts["hung up"] += 1
    finally:
        writer.transport.abort()
