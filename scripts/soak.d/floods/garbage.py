"""Bytes that are no protocol: SASL messages whose lengths lie, handshakes of TLS that break off, heads of requests that are none."""

import asyncio
import struct

import web
import wire

LANES = 4
PAUSE = 0.1


def sasl_messages(random):
    return [
        wire.message(b"p", b"SCRAM-SHA-256\0\x7f\xff\xff\xff"),
        wire.message(b"p", b"SCRAM-SHA-256\0\xff\xff\xff\xfe" + b"n,,n=,r=x"),
        wire.message(b"p", b"SCRAM-SHA-256\0"),
        wire.message(b"p", b"SCRAM-SHA-256\0\0\0\0\x20n,,n=,r=x"),
        wire.message(b"p", b"xx"),
        wire.sasl_initial(b""),
        wire.sasl_initial(b"n,,"),
        wire.sasl_initial(b"n,,n=,r=" + bytes(range(128, 255))),
        wire.sasl_initial(b"p=tls-server-end-point,,n=,r=x", b"SCRAM-SHA-256-PLUS"),
        wire.sasl_initial(b"n,,n=,r=x", b"NOTHING"),
        wire.sasl_initial(b"n,,n=,r=x") + wire.message(b"p", b"c=biws,r=x"),
        wire.sasl_initial(b"n,,n=,r=x") + wire.message(b"p", b"\xff\xff"),
        wire.message(b"p", random.randbytes(random.randrange(2, 200))),
        wire.sasl_initial(random.randbytes(random.randrange(2, 200))),
    ]


async def attack(target, lane):
    random = target.random
    if random.random() < 0.7:
        reader, writer = await web.connect(target.ports["wire"], target.source(lane), target.wire_tls)
        start = bytearray(wire.startup("stranger"))
        if random.random() < 0.2:
            start[random.randrange(len(start))] = random.randrange(256)
        sent = bytes(start) + random.choice(sasl_messages(random))
        target.counts["sasl"] += 1
    else:
        reader, writer = await asyncio.open_connection("127.0.0.1", target.ports[random.choice(list(target.ports))], local_addr=(target.source(lane), 0))
        sent = random.choice([b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", struct.pack("!II", 8, 80877103), b"GET / HTTP/1.1\r\n\r\n", b""]) + random.randbytes(random.randrange(64))
        target.counts["handshakes"] += 1
    try:
        writer.write(sent)
        await writer.drain()
        await asyncio.wait_for(reader.read(4096), 1)
    finally:
        writer.transport.abort()
