"""One flood in a process of its own, so that its work does not slow down the clients whose time is taken. Reads whom it attacks from standard input, and prints what it did when it is told to end."""

import asyncio
import collections
import importlib
import json
import random
import resource
import signal
import sys

import analysts
import web
import wire
from floods import FLOODS


class Target:
    """Whom a flood attacks, and from where."""

    def __init__(self, name, told):
        self.name, self.ports, self.tokens = name, told["ports"], told["tokens"]
        self.random = random.Random(told["seed"])
        self.tls, self.wire_tls = web.trusting(), web.trusting(protocol="postgresql")
        self.number = list(FLOODS).index(name) + 2
        self.counts = collections.Counter()

    def source(self, lane):
        """Strangers have a few addresses each."""
        return f"127.{self.number}.0.{lane % 8 + 1}"

    def account(self, lane):
        """Hostile analysts share a few accounts."""
        names = sorted(name for name in self.tokens if name.startswith(f"{self.name}-"))
        return names[lane % len(names)]

    async def signed_in(self, lane, **parameters):
        name = self.account(lane)
        return await wire.Wire.sign_in(self.ports["wire"], self.source(lane), self.wire_tls, name, self.tokens[name], **parameters)

    def post(self, lane, path, fields):
        """A request of a hostile analyst, as bytes."""
        headers = [("Authorization", f"Bearer {self.tokens[self.account(lane)]}"), ("Content-Type", "application/json")]
        return web.written("POST", path, self.ports["http"], headers, json.dumps(fields).encode())


async def rounds(flood, target, lane):
    """One lane: an attack after the other, whatever becomes of it."""
    while True:
        try:
            await flood.attack(target, lane)
            target.counts["rounds"] += 1
        except wire.Refused as refused:
            target.counts[f"refused {refused.state}"] += 1
        except analysts.BROKEN as broken:
            target.counts[type(broken).__name__] += 1
            await asyncio.sleep(0.2)
        await asyncio.sleep(flood.PAUSE)


async def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    target = Target(sys.argv[1], json.loads(sys.stdin.readline()))
    flood = importlib.import_module(f"floods.{FLOODS[target.name][0]}")
    lanes = [asyncio.ensure_future(rounds(flood, target, lane)) for lane in range(flood.LANES)]
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: [lane.cancel() for lane in lanes])
    ended = await asyncio.gather(*lanes, return_exceptions=True)
    failed = [repr(error) for error in ended if isinstance(error, Exception)]
    print(json.dumps({**target.counts, **({"failed": failed[:3]} if failed else {})}))


asyncio.run(main())
