"""A dataset on a server, over HTTPS, with the standard library alone."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import ssl
import threading
import time
import urllib.parse
from typing import TYPE_CHECKING, Any

from deniable._deniable import ArrowTable, LocalDataset, table_of_answer, table_of_parquet
from deniable._errors import (
    BudgetError,
    EngineError,
    Error,
    LedgerError,
    ParameterError,
    QueryError,
    ServerError,
)
from deniable._numbers import at_most

if TYPE_CHECKING:
    from collections.abc import Callable

# The longest wait for an answer. A server may run a query long; the connection says when the server is gone.
_TIMEOUT = 3600
_ATTEMPTS = 4

_CLASSES: dict[str, type[Error]] = {
    "bad-request": ParameterError,
    "syntax": QueryError,
    "refused": QueryError,
    "no-epsilon": QueryError,
    "over-budget": BudgetError,
    "question-cap": BudgetError,
    "day-cap": BudgetError,
    "no-share": BudgetError,
    "incident": EngineError,
    "answer-lost": EngineError,
    "ledger-full": LedgerError,
}


class RemoteDataset:
    """What :class:`deniable.Dataset` asks, through a server."""

    def __init__(
        self,
        address: str,
        *,
        token: str | None,
        user: str | None,
        password: str | None,
        certificate: str | None,
    ) -> None:
        parts = urllib.parse.urlsplit(address)
        if parts.scheme != "https" or not parts.hostname:
            raise ParameterError("the address of a server begins with https://", "write https://host:port")
        self._host, self._port = parts.hostname, parts.port or 443
        self._path = parts.path.rstrip("/")
        try:
            self._context = ssl.create_default_context()
            if certificate is not None:
                self._context.load_verify_locations(cafile=certificate)
        except (OSError, ssl.SSLError):
            raise ParameterError("the certificate cannot be read", "name a PEM file") from None
        self._lock = threading.Lock()
        self._connection: http.client.HTTPSConnection | None = None
        self._token = token or os.environ.get("DENIABLE_TOKEN")
        if user is not None:
            if password is None:
                raise ParameterError("a user without a password", "give password= too, or a token= instead")
            signed_in = self._call("POST", "/v1/sign-in", {"name": user, "password": password}, signed=False)
            self._token = json.loads(signed_in)["token"]
        if not self._token:
            raise ParameterError("nobody is signed in", "give token=, or user= and password=, or set DENIABLE_TOKEN")
        self._name = json.loads(self.tables())["dataset"]

    @property
    def name(self) -> str:
        return self._name

    def query(
        self,
        sql: str,
        epsilon: str | None,
        delta: str | None,
        cut_estimate: bool,
        purpose: str | None,
        watch: Callable[[str], None],
    ) -> tuple[str, ArrowTable]:
        # A server says nothing before it answers.
        del watch
        if purpose is not None:
            raise ParameterError("a server notes the question itself as its purpose", "leave purpose= out")
        body = _question(sql, epsilon, delta, cut_estimate)
        # If it is sent again after a broken connection, it is charged once.
        told = self._call("POST", "/v1/query", body, key=secrets.token_hex(16))
        return told, table_of_answer(told)

    def explain(
        self,
        sql: str,
        epsilon: str | None,
        delta: str | None,
        cut_estimate: bool,
        error: str | None,
        group_size: int,
    ) -> str:
        body = _question(sql, epsilon, delta, cut_estimate)
        body["group_size"] = group_size
        if error is not None:
            body["error"] = error
        return self._call("POST", "/v1/explain", body)

    def budget(self) -> str:
        return self._call("GET", "/v1/budget")

    def tables(self) -> str:
        return self._call("GET", "/v1/tables")

    def releases(self) -> str:
        return self._call("GET", "/v1/releases")

    def plan(self, name: str, epsilon: str | None, error: str | None, cell_size: int) -> str:
        wanted = {"epsilon": epsilon, "error": error, "cell_size": None if error is None else str(cell_size)}
        given = {key: value for key, value in wanted.items() if value is not None}
        asked = f"?{urllib.parse.urlencode(given)}" if given else ""
        return self._call("GET", f"/v1/releases/{_quoted(name)}/plan{asked}")

    def release(self, name: str, epsilon: str | None, watch: Callable[[str], None]) -> RemoteRelease:
        del watch
        if epsilon is not None:
            raise ParameterError("on a server the catalog says what a release costs", "leave epsilon= out")
        return RemoteRelease(self, name)

    def explain_synthesis(self, asked: str) -> str:
        told = json.loads(self._call("POST", "/v1/synthetic/explain", _given(asked), again=True))
        found = self._found(asked)
        return json.dumps({**told, "made_by_charge": None if found is None else found["id"]})

    def synthesize(self, asked: str, watch: Callable[[str], None]) -> RemoteSynthetic:
        del watch
        found = self._found(asked)
        if found is None:
            raise QueryError(
                "there are no such rows on the server",
                "a curator makes them: POST /v1/synthetic on their address, or their page of synthetic rows",
            )
        return RemoteSynthetic(self, found["id"])

    def _found(self, asked: str) -> dict[str, Any] | None:
        """The newest rows of what is asked for; what is not said may be anything."""
        wanted = _given(asked)
        wanted["table"] = wanted["table"].lower()
        if wanted.get("method") == "aim":
            # The default: rows that a curator made otherwise are as good.
            del wanted["method"]
        made: list[dict[str, Any]] = json.loads(self._call("GET", "/v1/synthetic"))["synthetic"]
        for rows in made:
            known = {**rows["asked"], "table": rows["asked"]["table"].lower()}
            if all(_same(known.get(name), value) for name, value in wanted.items()):
                return rows
        return None

    def measured_by(self, asked: str) -> str:
        sql: str = json.loads(self._call("POST", "/v1/regress/explain", _given(asked), again=True))["sql"]
        return sql

    def regress(self, asked: str, watch: Callable[[str], None]) -> str:
        del watch
        return self._call("POST", "/v1/regress", _given(asked), key=secrets.token_hex(16))

    def dummy(self) -> LocalDataset:
        from deniable._dummy import dummy_of

        return dummy_of(json.loads(self.tables()))

    def _call(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        *,
        key: str | None = None,
        signed: bool = True,
        again: bool = False,
    ) -> str:
        return self._bytes(method, path, body, key=key, signed=signed, again=again).decode()

    def _bytes(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        *,
        key: str | None = None,
        signed: bool = True,
        again: bool = False,
    ) -> bytes:
        headers = {"Accept": "application/json" if "/rows." not in path else "*/*"}
        if signed:
            headers["Authorization"] = f"Bearer {self._token}"
        if key is not None:
            headers["Idempotency-Key"] = key
        sent = None
        if body is not None:
            sent = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        # Requests that may be sent twice are: a GET, a request that costs nothing, and a query under its key.
        again = again or method == "GET" or key is not None or path == "/v1/explain"
        for attempt in range(_ATTEMPTS):
            try:
                status, received = self._exchange(method, self._path + path, sent, headers)
            except ssl.SSLCertVerificationError:
                raise ServerError(
                    "the server's certificate is not trusted",
                    "give certificate='server.pem', the certificate that the server showed its curator",
                ) from None
            except (OSError, http.client.HTTPException) as broken:
                self._close()
                if not again or attempt + 1 == _ATTEMPTS:
                    kind = type(broken).__name__
                    raise ServerError(
                        f"the server cannot be reached ({kind})", "is the address right, and does the server run?"
                    ) from None
                time.sleep(0.2 * 2**attempt)
                continue
            if status == 200:
                return received
            raise _failure(status, received)
        raise AssertionError("the last attempt returns or raises")

    def _exchange(self, method: str, path: str, sent: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        """One request on the connection that is kept open. A lock: it serves one at a time."""
        with self._lock:
            if self._connection is None:
                self._connection = http.client.HTTPSConnection(
                    self._host, self._port, timeout=_TIMEOUT, context=self._context
                )
            try:
                self._connection.request(method, path, body=sent, headers=headers)
                response = self._connection.getresponse()
                return response.status, response.read()
            except BaseException:
                # Ctrl-C too: the rest of this answer must not be read as a part of the next one.
                self._connection.close()
                self._connection = None
                raise

    def _close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


class RemoteRelease:
    """A release that a curator made on a server."""

    def __init__(self, dataset: RemoteDataset, name: str) -> None:
        self._dataset = dataset
        self._path = f"/v1/releases/{_quoted(name)}"
        planned = json.loads(dataset.plan(name, None, None, 1000))
        # Fails where it was not made.
        total = json.loads(dataset._call("GET", f"{self._path}/table"))
        self._told = {
            "release": name,
            "tables": [table["name"] for table in planned["tables"]],
            "guarantee": total["cost"]["guarantee"],
            "charge": total["cost"]["charge"],
            "repeated": True,
            "receipt": total["receipt"],
        }

    def told(self) -> str:
        return json.dumps(self._told)

    def table(self, by: list[str]) -> tuple[str, ArrowTable]:
        asked = urllib.parse.urlencode({"by": ",".join(by)})
        told = self._dataset._call("GET", f"{self._path}/table?{asked}")
        return told, table_of_answer(told)

    def everything(self) -> str:
        return self._dataset._call("GET", self._path)


class RemoteSynthetic:
    """Synthetic rows that a curator made on a server."""

    def __init__(self, dataset: RemoteDataset, number: int) -> None:
        self._dataset = dataset
        self._path = f"/v1/synthetic/{number}"
        self._rows: RemoteRows | None = None

    def rows(self, count: int | None) -> RemoteRows:
        if self._rows is None:
            self._rows = RemoteRows(self._dataset, self._path)
        if count is not None and count != self._rows.count():
            raise ParameterError(
                f"on this server there are {self._rows.count()} of these rows",
                "leave rows= out; a curator makes another number of them for nothing",
            )
        return self._rows


class RemoteRows:
    """The rows themselves."""

    def __init__(self, dataset: RemoteDataset, path: str) -> None:
        self._dataset, self._path = dataset, path
        self._about: dict[str, Any] = json.loads(dataset._call("GET", path))
        self._table: ArrowTable | None = None

    def told(self) -> str:
        left = json.loads(self._dataset.budget())["left"]
        return json.dumps({**self._about, "repeated": True, "left": {"epsilon": left}})

    def everything(self) -> str:
        return self.told()

    def count(self) -> int:
        return int(self._about["rows"])

    def slice(self, start: int, end: int) -> str:
        return self.table().slice(start, end)

    def table(self) -> ArrowTable:
        if self._table is None:
            self._table = table_of_parquet(self.written(True))
        return self._table

    def written(self, parquet: bool) -> bytes:
        return self._dataset._bytes("GET", f"{self._path}/rows.{'parquet' if parquet else 'csv'}")

    def page(self) -> str:
        raise ParameterError("a server shows the comparison on its own page", "open the page of synthetic rows in a browser")


def _given(asked: str) -> dict[str, Any]:
    """What is said of a request."""
    return {name: value for name, value in json.loads(asked).items() if value not in (None, [], {})}


def _same(one: Any, other: Any) -> bool:
    """Whether two values of a request are the same; numbers of a guarantee are decimals in text."""
    if isinstance(one, str) and isinstance(other, str) and one != other:
        from decimal import Decimal, InvalidOperation

        try:
            return Decimal(one) == Decimal(other)
        except InvalidOperation:
            return False
    return bool(one == other)


def _quoted(name: str) -> str:
    return urllib.parse.quote(name, safe="")


def _question(sql: str, epsilon: str | None, delta: str | None, cut_estimate: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"sql": sql, "cut_estimate": cut_estimate}
    if epsilon is not None:
        body["epsilon"] = epsilon
    if delta is not None:
        body["delta"] = delta
    return body


def _failure(status: int, received: bytes) -> Error:
    """The problem that the server reports, as the exception that the same would be here."""
    try:
        problem = json.loads(received)
        code = str(problem["type"]).removeprefix("urn:deniable:")
        what, hint = str(problem["title"]), str(problem["hint"])
    except (ValueError, KeyError, TypeError):
        return ServerError(f"the server answered with status {status}", "is this the address of a Deniable server?")
    error = _CLASSES.get(code, ServerError)(what, hint)
    if isinstance(error, ServerError):
        error.code = code
    if isinstance(error, BudgetError) and problem.get("fits") is not None:
        error.fits = at_most(problem["fits"])
    return error
