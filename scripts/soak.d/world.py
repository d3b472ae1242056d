"""The server under test: its data, accounts, process and disk, and when each of them was taken away."""

import asyncio
import ctypes
import errno
import json
import os
import re
import signal
import socket
import subprocess
import time

import web

PEOPLE = 2000
MARGIN = 3.0
"""Seconds after an outage in which the server may still be slow."""
MOST_SECONDS_TO_START = 60
MOST_SECONDS_TO_STOP = 60
DRAIN = 15
"""Seconds that a stop waits for questions; closing connections and writing the log may take as long again."""

CATALOG = """
name = "town"
[unit]
whose = "person"
neighbors = "add_remove"
[budget]
epsilon = {budget}
ledger = "disk/town.ledger"
[limits]
groups = 1
rows_per_group = 1
[tables.people]
source = "people.csv"
unit = "person_id"
rows_per_unit = 1
[tables.people.columns]
person_id = {{ kind = "int", nullable = false }}
age = {{ kind = "int", bounds = [0, 100], nullable = false }}
"""


def age_of(person):
    return person * 37 % 100


def people_younger_than(age):
    """The true answer of the analysts' question."""
    return sum(age_of(person) < age for person in range(PEOPLE))


def die_with_parent():
    """Whatever ends this program ends what it started."""
    set_parent_death_signal = 1
    ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGKILL)


class Outage:
    """A time in which the server cannot be expected to answer."""

    def __init__(self, why):
        self.why, self.start, self.end = why, time.monotonic(), None

    def over(self):
        self.end = time.monotonic() + MARGIN


class World:
    def __init__(self, binary, folder, budget, schedule, disk_mebibytes):
        self.binary, self.folder, self.budget, self.schedule = binary, folder, budget, schedule
        self.disk = os.path.join(folder, "disk")
        self.incidents = os.path.join(self.disk, "incidents")
        self.log = os.path.join(folder, "server.log")
        self.certificate = os.path.join(folder, "server.crt")
        self.ports = dict(zip(("http", "wire", "curators"), free_ports(3)))
        self.process = None
        self.outages = []
        self.tokens = {}
        self.starts = 0
        os.mkdir(self.disk)
        self.can_fill_disk = mounted(self.disk, disk_mebibytes)
        os.mkdir(self.incidents)
        with open(os.path.join(folder, "people.csv"), "w") as file:
            file.write("person_id,age\n" + "".join(f"{person},{age_of(person)}\n" for person in range(PEOPLE)))
        with open(os.path.join(folder, "deniable.toml"), "w") as file:
            file.write(CATALOG.format(budget=budget))

    async def deniable(self, *arguments, given=b""):
        """Runs a command, and returns its exit code and what it printed."""
        process = await asyncio.create_subprocess_exec(
            self.binary, *arguments, cwd=self.folder, env=self.environment(), preexec_fn=die_with_parent,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate(given)
        return process.returncode, out.decode(), err.decode()

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DENIABLE")}
        return {**kept, "DENIABLE_INCIDENTS": self.incidents}

    async def add_account(self, name, role="analyst", password=None):
        await self.must("user", "add", name, "--role", role)
        self.tokens[name] = (await self.must("user", "token", name)).strip()
        if password is not None:
            await self.must("user", "password", name, given=password.encode() + b"\n")

    async def must(self, *arguments, given=b""):
        code, out, err = await self.deniable(*arguments, given=given)
        if code != 0:
            raise RuntimeError(f"deniable {' '.join(arguments)}: {err}")
        return out

    # The process.

    async def start(self):
        """Starts the server; says what it said where it did not come up."""
        with open(self.log, "ab") as log:
            begins = log.tell()
            self.process = await asyncio.create_subprocess_exec(
                self.binary, "serve", "--self-signed", "localhost", "--schedule", str(int(self.schedule * 1000)), "--drain", str(DRAIN),
                *(part for name, port in self.ports.items() for part in (f"--{name}", f"127.0.0.1:{port}")),
                cwd=self.folder, env=self.environment(), preexec_fn=die_with_parent, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )
        self.starts += 1
        give_up = time.monotonic() + MOST_SECONDS_TO_START
        while time.monotonic() < give_up and self.process.returncode is None:
            if b"serving " in self.logged(begins):
                return None
            await asyncio.sleep(0.1)
        await self.kill()
        return self.logged(begins).decode("utf-8", "replace").strip() or "it said nothing"

    def logged(self, since=0):
        with open(self.log, "rb") as log:
            log.seek(since)
            return log.read()

    async def kill(self):
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
        if self.process is not None:
            await self.process.wait()

    async def stop(self):
        """Ends the server as it ends in use, and says how many seconds that took. One that takes far too long is killed."""
        began = time.monotonic()
        self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), MOST_SECONDS_TO_STOP)
        except asyncio.TimeoutError:
            await self.kill()
        return time.monotonic() - began

    def memory(self):
        """Bytes of memory that only the server has; `None` while it is down. Pages of the program's own file are not among them: the system reads them as they are first used, and takes them back when it likes."""
        try:
            with open(f"/proc/{self.process.pid}/status") as status:
                found = dict(re.findall(r"(RssAnon|RssShmem):\s+(\d+) kB", status.read()))
            return sum(int(size) for size in found.values()) * 1024 if found else None
        except (OSError, AttributeError):
            return None

    # The disk.

    def fill_disk(self, left):
        """Leaves about this many bytes of room; the server may be writing meanwhile."""
        with open(os.path.join(self.disk, "ballast"), "wb") as ballast:
            for taken in range(0, 1 << 20, 16 << 10):
                room = os.statvfs(self.disk)
                try:
                    os.posix_fallocate(ballast.fileno(), 0, max(room.f_bavail * room.f_frsize - left - taken, 1))
                    return
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def free_disk(self):
        try:
            os.remove(os.path.join(self.disk, "ballast"))
        except FileNotFoundError:
            pass

    # Outages.

    def begin_outage(self, why):
        outage = Outage(why)
        self.outages.append(outage)
        return outage

    def outage_between(self, start, end):
        """The first outage that touches these moments."""
        for outage in self.outages:
            if outage.start < end and (outage.end is None or outage.end > start):
                return outage
        return None

    def last_outage_end(self, before):
        """When the last outage that began before this moment was over; `None` while it goes on."""
        ends = [outage.end for outage in self.outages if outage.start < before]
        return None if None in ends else max(ends, default=0.0)

    # Curators.

    async def charges(self):
        """Every charge that the ledger holds, as an auditor reads it over HTTP."""
        reader = web.Web(self.ports["curators"], "127.0.0.1", web.trusting(self.certificate))
        try:
            response = await asyncio.wait_for(reader.request("GET", "/v1/ledger/charges", [("Authorization", f"Bearer {self.tokens['auditor']}")]), 60)
        finally:
            reader.close()
        if response.status != 200:
            raise OSError(f"the charges cannot be read: {response.status}")
        return json.loads(response.body)["charges"]


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def mounted(folder, mebibytes):
    """Whether a small file system could be mounted there. `scripts/soak` unmounts it."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=700", "deniable-soak", folder]
    try:
        return subprocess.run(mount, capture_output=True).returncode == 0
    except OSError:
        return False
