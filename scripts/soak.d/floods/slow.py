"""Heads of requests that arrive a byte at a time."""

import asyncio

import web

LANES = 100
PAUSE = 1.0


async def attack(target, lane):
    await asyncio.sleep(target.random.uniform(0, 5))
    entrance = "curators" if lane % 4 == 0 else "http"
    _, writer = await web.connect(target.ports[entrance], target.source(lane), target.tls)
    try:
        for byte in b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"x" * 20:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(1)
            if writer.transport.is_closing():
                target.counts["let go of"] += 1
                return
    finally:
        writer.transport.abort()
