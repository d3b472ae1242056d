"""Sign-ins with random names and passwords, as JSON and on pages: each costs the server a slow hash."""

import json
import secrets
import urllib.parse

import web

LANES = 48
PAUSE = 0.2


async def attack(target, lane):
    name, password = secrets.token_hex(6), secrets.token_hex(12)
    client = web.Web(target.ports["http"], target.source(lane), target.tls)
    try:
        for _ in range(10):
            if lane % 2:
                body = json.dumps({"name": name, "password": password}).encode()
                response = await client.request("POST", "/v1/sign-in", [("Content-Type", "application/json")], body)
            else:
                headers = [("Origin", f"https://localhost:{target.ports['http']}"), ("Content-Type", "application/x-www-form-urlencoded")]
                response = await client.request("POST", "/sign-in", headers, urllib.parse.urlencode({"name": name, "secret": password}).encode())
            target.counts[str(response.status)] += 1
            name = secrets.token_hex(6)
    finally:
        client.close()
