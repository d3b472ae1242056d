"""Analysts who send 40 different questions at once, and the next 40 when these are answered."""

import asyncio
import secrets

import web

LANES = 2
PAUSE = 0.0
AT_ONCE = 40


async def attack(target, lane):
    await asyncio.gather(*(question(target, lane) for _ in range(AT_ONCE)))


async def question(target, lane):
    reader, writer = await web.connect(target.ports["http"], target.source(lane), target.tls)
    try:
        number = secrets.randbelow(10**12) + 10**12
        # So cheap that they do not matter for the budget.
        fields = {"sql": f"SELECT COUNT(*) AS n FROM people WHERE person_id <> {number}", "epsilon": "0.0001"}
        writer.write(target.post(lane, "/v1/query", fields))
        status = web.status_of((await reader.readline()).decode("latin-1"))
        target.counts[str(status)] += 1
        if status != 200:
            await asyncio.sleep(1)
    finally:
        writer.transport.abort()
