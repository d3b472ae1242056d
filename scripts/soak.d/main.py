"""The soak: makes a server with accounts, lets analysts, floods and faults at it, and says whether every figure holds. `scripts/soak` builds the server and cleans up."""

import argparse
import asyncio
import decimal
import json
import os
import random
import resource
import signal
import sys
import time
import traceback

import analysts
import books
import chaos
import figures
import web
import world
from floods import FLOODS

SCHEDULE = 0.25
DISK_MEBIBYTES = 192
GUARD = 2 << 30
"""Bytes above idle at which the server is ended before the machine runs out of memory."""


def arguments():
    kinds = "\n".join(f"  {name:20} {what}" for name, what in [*((name, what) for name, (_, what, _) in FLOODS.items()), *chaos.KINDS.items()])
    parser = argparse.ArgumentParser(
        prog="scripts/soak", formatter_class=argparse.RawDescriptionHelpFormatter, description="Soaks `deniable serve` and says whether it kept what it promises.",
        epilog=f"Kinds of trouble, for --only:\n{kinds}\n\n--release builds and soaks what people install. Exit code: 0 every figure holds, 1 one does not, 2 it could not be found out.",
    )
    parser.add_argument("--minutes", type=float, default=10, metavar="N", help="how long it lasts [10]")
    parser.add_argument("--analysts", type=int, default=64, metavar="N", help="well-behaved analysts [64]")
    parser.add_argument("--every", type=float, default=16, metavar="SECONDS", help="seconds between two questions of one of them, on average [16]")
    parser.add_argument("--seed", type=int, default=None, metavar="S", help="for faults and questions [random, and printed]")
    parser.add_argument("--only", metavar="KIND,…", help="these kinds of trouble alone, or none [all]")
    parser.add_argument("--json", metavar="FILE", help="write the report there as JSON")
    for name in ("binary", "folder", "profile"):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    options = parser.parse_args()
    known = [*FLOODS, *chaos.KINDS]
    options.only = known if options.only is None else [] if options.only == "none" else options.only.split(",")
    for kind in options.only:
        if kind not in known:
            parser.error(f"there is no kind {kind!r}: choose from none, {', '.join(known)}")
    if options.seed is None:
        options.seed = random.randrange(1 << 32)
    return options


def say(words):
    print(f"soak: {words}", file=sys.stderr, flush=True)


async def make(options):
    """The server with its accounts, started."""
    questions = options.analysts * (60 * options.minutes / options.every + 4)
    budget = max(int(float(analysts.EPSILON) * questions * 2), 10)
    here = world.World(options.binary, options.folder, budget, SCHEDULE, DISK_MEBIBYTES)
    here.head, here.passwords = None, {}
    say(f"making {options.analysts} analysts")
    await here.add_account("auditor", "auditor")
    for number in range(options.analysts):
        name = f"analyst{number}"
        if number % 8 == 7:
            here.passwords[name] = f"the password of {name} is long"
        await here.add_account(name, password=here.passwords.get(name))
    for kind in options.only:
        for number in range(FLOODS[kind][2] if kind in FLOODS else 0):
            await here.add_account(f"{kind}-{number}")
    said = await here.start()
    if said is not None:
        raise RuntimeError(f"the server does not start: {said}")
    here.tls, here.wire_tls = web.trusting(here.certificate), web.trusting(here.certificate, "postgresql")
    return here


async def watch_memory(here, seen):
    while True:
        size = here.memory()
        if size is not None:
            seen.memory.append((time.monotonic(), size))
            if seen.idle and size > seen.idle + GUARD and here.process.returncode is None:
                seen.events["ended by the guard of memory"] += 1
                outage = here.begin_outage("memory")
                await here.kill()
                await chaos.start(here, seen, outage)
        await asyncio.sleep(1)


async def watch_health(here, seen):
    """What a supervisor sees at the curators' door."""
    while True:
        began = time.monotonic()
        probe = web.Web(here.ports["curators"], "127.0.0.1", here.tls)
        try:
            await asyncio.wait_for(probe.request("GET", "/healthz"), 60)
        except analysts.BROKEN as broken:
            seen.broken(broken, began)
        finally:
            probe.close()
        seen.time("health", began, time.monotonic())
        await asyncio.sleep(2)


async def begin_floods(here, options):
    begun = {}
    for kind in options.only:
        if kind in FLOODS:
            process = await asyncio.create_subprocess_exec(
                sys.executable, os.path.join(os.path.dirname(__file__), "flood.py"), kind, preexec_fn=world.die_with_parent,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            )
            told = {"ports": here.ports, "tokens": here.tokens, "seed": options.seed}
            process.stdin.write(json.dumps(told).encode() + b"\n")
            begun[kind] = process
    return begun


async def end_floods(begun, seen):
    for process in begun.values():
        if process.returncode is None:
            process.terminate()
    for kind, process in begun.items():
        try:
            out, _ = await asyncio.wait_for(process.communicate(), 20)
            seen.floods[kind] = json.loads(out)
        except (asyncio.TimeoutError, ValueError):
            process.kill()
            seen.floods[kind] = {"failed": ["it did not end"]}


async def race_for_the_rest(here, seen, people):
    """Everybody asks at once for more than is left together, and the server is killed in it: what does not fit is refused, and what was charged stays charged once."""
    first = analysts.OverHttp(here, people[0].name, "127.0.0.1")
    response = await first.web.request("GET", "/v1/budget", [("Authorization", f"Bearer {first.token}")])
    first.close()
    left = decimal.Decimal(json.loads(response.body)["left_of_dataset"])
    each = (left / max(len(people) // 3, 1)).quantize(decimal.Decimal("0.001"), decimal.ROUND_DOWN)
    until = time.monotonic() + 60
    asked = [asyncio.ensure_future(person.settle(person.new_question(str(each)), None, until)) for person in people]
    await asyncio.sleep(1)
    await chaos.kill(here, seen, None)
    await asyncio.gather(*asked)
    seen.events["asked in the race for the rest"] = len(people)


async def soak(options):
    say(f"seed {options.seed}")
    here = await make(options)
    seen = figures.Figures(here)
    chance = random.Random(options.seed)
    kinds = [kind for kind in options.only if kind in chaos.KINDS]
    if "full-disk" in kinds and not here.can_fill_disk:
        kinds.remove("full-disk")
        seen.left_out.append("full-disk: no small file system can be mounted here, which takes root")
    begun, tasks = {}, []
    try:
        await asyncio.sleep(3)
        seen.idle = here.memory()
        until = time.monotonic() + 60 * options.minutes
        people = [analysts.Analyst(number, here, seen, random.Random(chance.random()), options.every) for number in range(options.analysts)]
        say(f"soaking for {options.minutes:g} minutes: {', '.join(options.only) or 'nothing but analysts'}")
        begun = await begin_floods(here, options)
        living = [asyncio.ensure_future(person.live(until)) for person in people]
        watching = [asyncio.ensure_future(watch(here, seen)) for watch in (watch_memory, watch_health)]
        faults = asyncio.ensure_future(chaos.live(here, seen, chance, kinds, until))
        tasks = [*living, *watching, faults]
        # What goes wrong in a fault or a watch ends the soak.
        for task in (await asyncio.wait([faults, *watching], return_when=asyncio.FIRST_COMPLETED))[0]:
            task.result()
        say("stopping under load")
        outage = here.begin_outage("stop")
        seen.stops.append(await here.stop())
        await end_floods(begun, seen)
        await chaos.start(here, seen, outage)
        await asyncio.gather(*living)
        for watch in watching:
            await ended(watch)
        say("asking for the rest of the budget")
        await race_for_the_rest(here, seen, people)
        await books.check_receipts(here, seen, chance)
        await here.stop()
    except chaos.Gone:
        say("the server does not start any more")
        await end_floods(begun, seen)
    finally:
        for task in tasks:
            task.cancel()
        for process in begun.values():
            if process.returncode is None:
                process.kill()
        await here.kill()
    await books.close(here, seen)
    seen.incidents = len(os.listdir(here.incidents))
    return seen.report({name: value for name, value in vars(options).items() if name not in ("binary", "folder", "json")})


async def ended(task):
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        pass


def main():
    options = arguments()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)

    async def until_done_or_told():
        task = asyncio.ensure_future(soak(options))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        return await task

    try:
        report = asyncio.run(until_done_or_told())
    except asyncio.CancelledError:
        say("ended before its time")
        return 2
    except Exception:
        traceback.print_exc()
        say("it could not be found out")
        return 2
    print(figures.table(report))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(report, file, indent=1)
            file.write("\n")
    return 0 if report["holds"] else 1


sys.exit(main())
