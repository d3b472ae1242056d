"""Faults at random moments: SIGKILL, SIGTERM, and a disk without room."""

import asyncio
import time

import books

KINDS = {
    "kill": "kill -9 at a random moment, and a new start",
    "stop": "SIGTERM at a random moment, timed, and a new start",
    "full-disk": "no room on the ledger's disk for some seconds, now and then with a kill in it",
}
TIMES = 12
"""How many faults there are in a soak on average: few enough that memory can grow between them."""


class Gone(Exception):
    """The server does not start any more: there is nothing left to soak."""


async def live(here, figures, random, kinds, until):
    """Every kind once, in random order, then any, until the time is up. A fault that has begun is seen to its end."""
    first = random.sample(kinds, len(kinds))
    seconds = until - time.monotonic()
    pause = lambda: min(2 + random.expovariate(TIMES / seconds), seconds / 3)
    while kinds and time.monotonic() + (waits := pause()) < until:
        await asyncio.sleep(waits)
        kind = first.pop() if first else random.choice(kinds)
        figures.events[kind] += 1
        await {"kill": kill, "stop": stop, "full-disk": full_disk}[kind](here, figures, random)
        await books.compare_over_http(here, figures)
    await asyncio.sleep(max(until - time.monotonic(), 0))


async def kill(here, figures, _random):
    outage = here.begin_outage("kill")
    await here.kill()
    await books.verify(here, figures, "after a kill")
    await start(here, figures, outage)


async def stop(here, figures, _random):
    outage = here.begin_outage("stop")
    figures.stops.append(await here.stop())
    await books.verify(here, figures, "after a stop")
    await start(here, figures, outage)


async def full_disk(here, figures, random):
    outage = here.begin_outage("full disk")
    # How much is left decides in which statement of a charge the room ends.
    here.fill_disk(random.choice([0, 4096, 8192, 20_000, 40_000, 80_000]))
    await asyncio.sleep(random.uniform(2, 8))
    killed = random.random() < 0.3
    if killed:
        figures.events["kill on a full disk"] += 1
        await here.kill()
    here.free_disk()
    # The server that runs holds the ledger open; whoever looks from outside must find it intact all the same.
    await books.verify(here, figures, "after a full disk")
    if killed:
        await start(here, figures, outage)
    else:
        outage.over()


async def start(here, figures, outage):
    said = await here.start()
    if said is not None:
        figures.start_failed(said)
        said = await here.start()
        if said is not None:
            figures.start_failed(said)
            raise Gone
    outage.over()
