"""The PostgreSQL wire, as little of it as the soak needs: signing in by SCRAM, simple queries, and messages as bytes for those who misbehave."""

import base64
import hashlib
import hmac
import os
import struct

import web


class Refused(Exception):
    """What the server said instead of an answer."""

    def __init__(self, fields):
        super().__init__(fields.get("M", ""))
        self.state = fields.get("C", "")
        self.what = fields.get("M", "")
        self.hint = fields.get("H", "")
        self.severity = fields.get("V", fields.get("S", ""))

    def is_fatal(self):
        """Whether the connection ends with it; after anything else the server is ready for the next query."""
        return self.severity in ("FATAL", "PANIC")


def message(kind, body):
    return kind + struct.pack("!I", len(body) + 4) + body


def startup(user, database="town", **parameters):
    pairs = {"user": user, "database": database, **parameters}
    body = struct.pack("!I", 196608) + b"".join(f"{name}\0{value}\0".encode() for name, value in pairs.items()) + b"\0"
    return struct.pack("!I", len(body) + 4) + body


def sasl_initial(data, mechanism=b"SCRAM-SHA-256"):
    return message(b"p", mechanism + b"\0" + struct.pack("!i", len(data)) + data)


class Wire:
    """One connection that has signed in."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def sign_in(cls, port, source, context, user, token, **parameters):
        wire = cls(*await web.connect(port, source, context))
        try:
            wire.writer.write(startup(user, **parameters))
            await wire.scram(token)
            while (await wire.receive())[0] != b"Z":
                pass
            return wire
        except BaseException:
            wire.close()
            raise

    async def scram(self, password):
        await self.receive()
        nonce = base64.b64encode(os.urandom(18)).decode()
        bare = f"n=,r={nonce}"
        self.writer.write(sasl_initial(f"n,,{bare}".encode()))
        first = (await self.receive())[1][4:].decode()
        said = dict(part.split("=", 1) for part in first.split(","))
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(said["s"]), int(said["i"]))
        client_key = hmac.digest(salted, b"Client Key", "sha256")
        without_proof = f"c=biws,r={said['r']}"
        signature = hmac.digest(hashlib.sha256(client_key).digest(), f"{bare},{first},{without_proof}".encode(), "sha256")
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature))).decode()
        self.writer.write(message(b"p", f"{without_proof},p={proof}".encode()))

    async def receive(self):
        """The next message; an error of the server as `Refused`."""
        head = await self.reader.readexactly(5)
        body = await self.reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)
        if head[:1] == b"E":
            raise Refused(fields_of(body))
        return head[:1], body

    async def query(self, sql):
        """Rows as lists of texts, and what was said beside them."""
        self.writer.write(message(b"Q", sql.encode() + b"\0"))
        await self.writer.drain()
        rows, notices, refused = [], [], None
        while True:
            try:
                kind, body = await self.receive()
            except Refused as error:
                refused = error
                if error.is_fatal():
                    raise
                continue
            if kind == b"D":
                rows.append(values_of(body))
            elif kind == b"N":
                notices.append(fields_of(body).get("M", ""))
            elif kind == b"Z":
                if refused is not None:
                    raise refused
                return rows, notices

    def close(self):
        self.writer.transport.abort()


def fields_of(body):
    parts = body.rstrip(b"\0").split(b"\0")
    return {part[:1].decode(): part[1:].decode("utf-8", "replace") for part in parts if part}


def values_of(body):
    count, place, values = struct.unpack("!H", body[:2])[0], 2, []
    for _ in range(count):
        (length,) = struct.unpack("!i", body[place : place + 4])
        place += 4
        if length < 0:
            values.append(None)
        else:
            values.append(body[place : place + length].decode())
            place += length
    return values
