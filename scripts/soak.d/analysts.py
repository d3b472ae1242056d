"""Well-behaved analysts: cheap questions with known answers, asked one after the other, and asked again for nothing."""

import asyncio
import json
import re
import secrets
import ssl
import time
import urllib.parse

import web
import wire
import world

EPSILON = "0.5"
PATIENCE = 60.0
"""Seconds after which an attempt is given up and made again."""
BROKEN = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.TimeoutError, ssl.SSLError)
"""What a client meets when the server is killed under it."""


class Question:
    """One question, sent until it is answered, refused for its price, or lost."""

    def __init__(self, analyst, age, number, epsilon, keyed):
        self.analyst, self.age, self.number, self.epsilon, self.keyed = analyst, age, number, epsilon, keyed
        # Nobody has this number, so the answer is the same; the question is another one.
        self.sql = f"SELECT COUNT(*) AS n FROM people WHERE age < {age} AND person_id <> {number}"
        self.key = secrets.token_hex(16)
        self.attempts = 0


class Answer:
    def __init__(self, value, low, high, charge, repeated):
        self.value, self.low, self.high, self.charge, self.repeated = int(value), int(low), int(high), charge, repeated
        self.received = time.monotonic()

    def shown(self):
        return (self.value, self.low, self.high)


class Refusal(Exception):
    """A problem that the server states: its stable name or SQLSTATE, and the seconds after which to try again."""

    def __init__(self, code, what, hint, retry_after=None):
        super().__init__(f"{code}: {what}")
        self.code, self.what, self.hint = code, what, hint
        self.retry_after = float(retry_after or 0.5)


OVER_BUDGET = ("over-budget", "53400")
LOST = ("answer-lost", "58000")


def refusal_of(response):
    try:
        problem = json.loads(response.body)
        code, what, hint = problem["type"].rsplit(":", 1)[-1], problem["title"], problem["hint"]
    except (ValueError, KeyError, AttributeError):
        # A page says the same in words.
        code = {402: "over-budget", 409: "answer-lost", 401: "not-signed-in"}.get(response.status, str(response.status))
        what = hint = re.sub(rb"<[^>]*>", b" ", response.body).decode("utf-8", "replace")
    return Refusal(code, what, hint, response.headers.get("retry-after"))


class Wrong(Exception):
    """An answer that does not follow from its charge, or is none."""


MALFORMED = (ValueError, KeyError, IndexError, TypeError)


def answer_of(body):
    try:
        answer = json.loads(body)
        cell, charge, receipt = answer["rows"][0]["n"], answer["cost"]["charge"], answer["receipt"]
        if receipt["entry"]["number"] != charge:
            raise Wrong(f"the receipt is about charge {receipt['entry']['number']}, and the answer about {charge}")
        return Answer(cell["value"], cell["low"], cell["high"], charge, answer["repeated"])
    except MALFORMED as error:
        raise Wrong(f"it cannot be read ({error!r}): {body[:300]!r}") from None


class OverHttp:
    def __init__(self, here, name, source):
        self.name, self.token = name, here.tokens[name]
        self.web = web.Web(here.ports["http"], source, here.tls)

    async def ask(self, question):
        return answer_of(await self.ask_for_bytes(question))

    async def ask_for_bytes(self, question):
        body = json.dumps({"sql": question.sql, "epsilon": question.epsilon}).encode()
        headers = [("Authorization", f"Bearer {self.token}"), ("Content-Type", "application/json"), ("Idempotency-Key", f"{self.name}-{question.key}")]
        response = await self.web.request("POST", "/v1/query", headers, body)
        if response.status != 200:
            raise refusal_of(response)
        return response.body

    def close(self):
        self.web.close()


class OverWire:
    def __init__(self, here, name, source):
        self.here, self.name, self.source, self.wire = here, name, source, None

    async def connected(self):
        if self.wire is None:
            here, options = self.here, "-c deniable.intervals=on"
            try:
                self.wire = await wire.Wire.sign_in(here.ports["wire"], self.source, here.wire_tls, self.name, here.tokens[self.name], options=options)
            except wire.Refused as refused:
                raise Refusal(refused.state, refused.what, refused.hint) from None
            self.epsilon = None
        return self.wire

    async def query(self, sql):
        connection = await self.connected()
        try:
            return await connection.query(sql)
        except wire.Refused as refused:
            if refused.is_fatal():
                self.close()
            raise Refusal(refused.state, refused.what, refused.hint) from None
        except BaseException:
            self.close()
            raise

    async def ask(self, question):
        await self.connected()
        if self.epsilon != question.epsilon:
            await self.query(f"SET deniable.epsilon = {question.epsilon}")
            self.epsilon = question.epsilon
        rows, notices = await self.query(question.sql)
        said = " ".join(notices)
        try:
            return Answer(*rows[0], int(re.search(r"charge (\d+)", said)[1]), "released before" in said)
        except MALFORMED as error:
            raise Wrong(f"it cannot be read ({error!r}): {rows} {said[:300]}") from None

    def close(self):
        if self.wire is not None:
            self.wire.close()
            self.wire = None


class OnPages:
    def __init__(self, here, name, source, secret):
        self.here, self.name, self.secret, self.cookie = here, name, secret, None
        self.web = web.Web(here.ports["http"], source, here.tls)
        self.origin = f"https://localhost:{here.ports['http']}"

    async def send(self, path, **fields):
        headers = [("Origin", self.origin), ("Content-Type", "application/x-www-form-urlencoded")]
        if self.cookie:
            headers.append(("Cookie", self.cookie))
        return await self.web.request("POST", path, headers, urllib.parse.urlencode(fields).encode())

    async def sign_in(self):
        self.cookie = None
        response = await self.send("/sign-in", name=self.name, secret=self.secret)
        if response.status != 303 or "set-cookie" not in response.headers:
            raise refusal_of(response)
        self.cookie = response.headers["set-cookie"].split(";")[0]

    async def ask(self, question):
        response = await self.send("/ask", sql=question.sql, epsilon=question.epsilon, key=question.key)
        location = response.headers.get("location", "")
        if location.startswith("/sign-in"):
            self.cookie = None
            raise Refusal("not-signed-in", "the session has ended", "sign in again")
        if response.status != 303:
            raise refusal_of(response)
        received = time.monotonic()
        shown = await self.web.request("GET", f"{location}/json", [("Cookie", self.cookie)])
        if shown.status != 200:
            raise refusal_of(shown)
        answer = answer_of(shown.body)
        answer.received = received
        # A page shows what was saved, so whether it was new is known from who paid.
        answer.repeated = None
        return answer

    def close(self):
        self.web.close()


class Analyst:
    """Asks, waits, asks again."""

    def __init__(self, number, here, figures, random, every):
        self.name = f"analyst{number}"
        self.here, self.figures, self.random, self.every = here, figures, random, every
        self.source = f"127.1.{number // 250}.{number % 250 + 1}"
        self.count = number * 1_000_000 + 1_000_000
        # Of eight, four ask over HTTP, two over the wire, one on pages with a token, and one with a password.
        kind = number % 8
        self.password = here.passwords.get(self.name)
        if kind < 4:
            self.entrance = OverHttp(here, self.name, self.source)
        elif kind < 6:
            self.entrance = OverWire(here, self.name, self.source)
        else:
            self.entrance = OnPages(here, self.name, self.source, self.password or here.tokens[self.name])

    async def live(self, until):
        await asyncio.sleep(self.random.uniform(0, self.every))
        while time.monotonic() < until:
            again = self.figures.answered and self.random.random() < 0.4
            if again:
                question, before = self.random.choice(self.figures.answered)
                await self.settle(Repeat(self, question), before, until)
            else:
                await self.settle(self.new_question(), None, until)
            if isinstance(self.entrance, OverWire):
                await self.look_around()
            # Now and then the next question comes over a new connection, and after a new sign-in.
            if self.random.random() < 0.2:
                self.entrance.close()
                if isinstance(self.entrance, OnPages):
                    self.entrance.cookie = None
            await asyncio.sleep(min(self.random.expovariate(1 / self.every), 4 * self.every))
        self.entrance.close()

    def new_question(self, epsilon=EPSILON):
        self.count += 1
        keyed = not isinstance(self.entrance, OverWire)
        return Question(self.name, self.random.randrange(20, 90), self.count, epsilon, keyed)

    async def settle(self, question, before, until):
        """Asks until there is an end to it."""
        asked = time.monotonic()
        while True:
            question.attempts += 1
            attempted = time.monotonic()
            try:
                if isinstance(self.entrance, OnPages) and self.entrance.cookie is None:
                    # Signing in again is a figure of its own, not a part of the question's time.
                    await self.sign_in(until)
                    if question.attempts == 1:
                        asked = time.monotonic()
                answer = await asyncio.wait_for(self.entrance.ask(question), PATIENCE)
                self.figures.answer(question, answer, before, asked)
                break
            except Refusal as refusal:
                self.figures.refusal(refusal, attempted)
                if refusal.code in OVER_BUDGET and "too many" not in refusal.what:
                    self.figures.over_budget += 1
                    break
                if refusal.code in LOST:
                    # Charged, and killed before the answer was saved. What was answered once cannot be lost any more.
                    (self.figures.lost_answers if before is None else self.figures.lost_charges).append(question.sql)
                    break
                await asyncio.sleep(min(refusal.retry_after, 5))
            except Wrong as wrong:
                self.figures.wrong.append(f"{question.sql}: {wrong}")
                break
            except BROKEN as broken:
                self.entrance.close()
                self.figures.broken(broken, attempted)
                await asyncio.sleep(0.25)
            if time.monotonic() > until:
                self.figures.unanswered(asked)
                break

    async def sign_in(self, until):
        began = time.monotonic()
        while time.monotonic() < until:
            attempted = time.monotonic()
            try:
                await asyncio.wait_for(self.entrance.sign_in(), PATIENCE)
                break
            except Refusal as refusal:
                self.figures.refusal(refusal, attempted)
                await asyncio.sleep(min(refusal.retry_after, 5))
            except BROKEN as broken:
                self.entrance.close()
                self.figures.broken(broken, attempted)
                await asyncio.sleep(0.25)
        if self.password is not None:
            self.figures.time("sign_in", began, time.monotonic())

    async def look_around(self):
        """What a client asks of the system catalogs by itself."""
        began = time.monotonic()
        try:
            await asyncio.wait_for(self.entrance.query("SELECT relname FROM pg_catalog.pg_class WHERE relkind = 'r'"), PATIENCE)
        except Refusal as refusal:
            self.figures.refusal(refusal, began)
        except BROKEN as broken:
            self.entrance.close()
            self.figures.broken(broken, began)
        self.figures.time("catalog", began, time.monotonic())


class Repeat(Question):
    """A question that was answered before, perhaps to somebody else over another entrance."""

    def __init__(self, analyst, question):
        super().__init__(analyst.name, question.age, question.number, question.epsilon, question.keyed)


def is_plausible(question, answer):
    """Ten times the interval is exceeded by noise once in 10^13 questions."""
    off = abs(answer.value - world.people_younger_than(question.age))
    return off <= 10 * max(answer.high - answer.low, 2) / 2
