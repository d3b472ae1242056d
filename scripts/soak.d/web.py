"""HTTP over TLS from an address of one's own, with one connection that is kept."""

import asyncio
import ssl

HEAD = 64 * 1024


class Response:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body


def trusting(certificate=None, protocol="http/1.1"):
    """TLS that checks the server's certificate, or, without one, takes any: strangers do not care who they annoy."""
    context = ssl.create_default_context(cafile=certificate)
    if certificate is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    return context


async def connect(port, source, context):
    return await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0), ssl=context, server_hostname="localhost", limit=HEAD)


class Web:
    """One client. A connection that broke is opened again by the next request."""

    def __init__(self, port, source, context):
        self.port, self.source, self.context = port, source, context
        self.writer = None

    def close(self):
        if self.writer is not None:
            self.writer.transport.abort()
            self.writer = None

    async def request(self, method, path, headers=(), body=b""):
        try:
            if self.writer is None:
                self.reader, self.writer = await connect(self.port, self.source, self.context)
            self.writer.write(written(method, path, self.port, headers, body))
            await self.writer.drain()
            return await self.read_response(method)
        except BaseException:
            self.close()
            raise

    async def read_response(self, method):
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = status_of(first)
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        length = int(headers.get("content-length", "0"))
        body = b"" if method == "HEAD" else await self.reader.readexactly(length)
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Response(status, headers, body)


def status_of(line):
    """The status in the first line of a response."""
    parts = line.split(" ")
    if len(parts) < 2 or not parts[1].isdigit():
        raise ConnectionError(f"this is no response of HTTP: {line[:100]!r}")
    return int(parts[1])


def written(method, path, port, headers=(), body=b""):
    lines = [f"{method} {path} HTTP/1.1", f"Host: localhost:{port}", *(f"{name}: {value}" for name, value in headers)]
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body
