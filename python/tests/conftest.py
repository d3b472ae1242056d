"""Datasets that several tests ask, and what several tests expect."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import pkgutil
import ssl
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import deniable

PEOPLE = {
    "person": list(range(1, 41)),
    "city": ["Ash", "Bree"] * 20,
    "age": [20 + number for number in range(40)],
}

# Noise is other than 0 with a probability below 1e-150 at this ε, where one person moves a statistic by at most 100.
NO_NOISE = 40_000


PASSWORD = "correct horse battery staple"


def refused(call: Callable[..., object], *arguments: Any, **named: Any) -> str:
    """What an error says, which always has a hint and never advice for a command line."""
    with pytest.raises(deniable.ParameterError) as caught:
        call(*arguments, **named)
    assert caught.value.hint
    assert "--" not in str(caught.value)
    return str(caught.value)


def examples_run(module: ModuleType) -> int:
    """Runs the examples in the documentation of a module and of all that lie in it, and says how many there are."""
    inside = pkgutil.iter_modules(getattr(module, "__path__", []), module.__name__ + ".")
    tried = 0
    for one in [module, *(importlib.import_module(found.name) for found in inside)]:
        outcome = doctest.testmod(one)
        assert outcome.failed == 0, one.__name__
        tried += outcome.attempted
    return tried


@pytest.fixture
def people() -> dict[str, list[Any]]:
    return {name: list(values) for name, values in PEOPLE.items()}


@pytest.fixture
def exact(people: dict[str, list[Any]]) -> deniable.Dataset:
    """People with a budget that allows answers without noise."""
    return declared(people)


def declared(people: Any, **more: Any) -> deniable.Dataset:
    arguments: dict[str, Any] = {
        "unit": "person",
        "rows_per_unit": 1,
        "epsilon": 10_000_000,
        "bounds": {"age": (0, 100)},
        "values": {"city": ["Ash", "Bree"]},
        "not_null": ["city", "age"],
        "analyst": "ann",
    }
    return deniable.from_arrow({"people": people}, **{**arguments, **more})


class Served:
    """A server on loopback, and a token for it."""

    def __init__(self, address: str, token: str, certificate: Path, curators: str, curator: str) -> None:
        self.address, self.token, self.certificate = address, token, certificate
        self._curators, self._curator = curators, curator

    def connect(self, **more: Any) -> deniable.Dataset:
        return deniable.connect(self.address, **{"token": self.token, "certificate": self.certificate, **more})

    def curate(self, path: str, body: dict[str, Any]) -> Any:
        """What a curator asks for on their own address."""
        request = urllib.request.Request(
            self._curators + path,
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._curator}", "Content-Type": "application/json"},
        )
        context = ssl.create_default_context(cafile=str(self.certificate))
        with urllib.request.urlopen(request, context=context) as response:
            return json.load(response)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The binary that the other tests build, serving the same people."""
    binary = os.environ.get("DENIABLE_TEST_BINARY")
    if not binary:
        pytest.skip("DENIABLE_TEST_BINARY names no binary: scripts/test-python does")
    folder = tmp_path_factory.mktemp("served")
    rows = zip(*PEOPLE.values())
    lines = [",".join(PEOPLE)] + [",".join(map(str, row)) for row in rows]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "deniable.toml").write_text(
        """
name = "served"
[unit]
whose = "person"
[budget]
epsilon = 10000000
delta = 1e-3
[tables.people]
source = "people.csv"
unit = "person"
rows_per_unit = 1
[tables.people.columns]
person = { kind = "int" }
city = { kind = "text", values = ["Ash", "Bree"], nullable = false }
age = { kind = "int", bounds = [0, 100], nullable = false }
"""
    )
    environment = {**os.environ, "XDG_DATA_HOME": str(folder / "home")}

    def run(*arguments: str, entered: str = "") -> str:
        done = subprocess.run(
            [binary, *arguments],
            cwd=folder,
            env=environment,
            input=entered,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("user", "add", "ann")
    run("user", "password", "ann", entered=PASSWORD + "\n")
    token = json.loads(run("user", "token", "ann", "--json"))["token"]
    run("user", "add", "carol", "--role", "curator")
    curator = json.loads(run("user", "token", "carol", "--json"))["token"]
    server = subprocess.Popen(
        [binary, "serve", "--self-signed", "localhost", "--http", "127.0.0.1:0", "--wire", "127.0.0.1:0",
         "--curators", "127.0.0.1:0", "--schedule", "0", "--rate", "1000"],
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stderr is not None
        # `serving NAME: https://127.0.0.1:PORT, PostgreSQL wire …`, or why not.
        said = server.stderr.readline()
        assert said.startswith("serving"), said + server.stderr.read()
        port = said.split("https://127.0.0.1:")[1].split(",")[0]
        # `for curators, auditors and operators: https://127.0.0.1:PORT`.
        curators = server.stderr.readline().strip().rsplit(":", 1)[1]
        certificate = folder / "server.crt"
        yield Served(f"https://localhost:{port}", token, certificate, f"https://localhost:{curators}", curator)
    finally:
        server.terminate()
        server.wait(timeout=30)
