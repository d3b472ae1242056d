"""The bookkeeper: every answer that left has its charge in the ledger, once, and the charges stay within the budget."""

import asyncio
import collections
import json
import os

import analysts

MOST_RECEIPTS = 20


async def verify(here, figures, when):
    """The chain is whole, and still holds what it held before."""
    head = ["--head", here.head] if here.head else []
    code, out, err = await here.deniable("budget", "verify", "--json", *head)
    if code != 0:
        figures.ledger_failed(when, f"exit code {code}: {err.strip() or out.strip()}")
        return
    figures.events["verified"] += 1
    found = json.loads(out)["head"]
    here.head = f"{found['number']} {found['hash']}"


def compare(figures, acknowledged, charges):
    """Every answer that was acknowledged before these charges were read against them."""
    by_number = {charge["number"]: charge for charge in charges}
    for number, question in acknowledged.items():
        charge = by_number.get(number)
        if charge is None:
            lost(figures, f"charge {number} of {question.analyst} is not in the ledger")
        elif charge["analyst"] != question.analyst or str(question.number) not in charge["purpose"]:
            lost(figures, f"charge {number} is not for {question.sql!r} of {question.analyst}: {charge}")
    times = collections.Counter(charge["purpose"] for charge in charges)
    for number, question in acknowledged.items():
        charge = by_number.get(number)
        # The wire has no key by which a second attempt is known: one that was cut off may have been charged.
        most = 1 if question.keyed else question.attempts
        if charge is not None and times[charge["purpose"]] > most:
            twice(figures, f"{question.sql!r} was charged {times[charge['purpose']]} times in {question.attempts} attempts")


def lost(figures, what):
    if what not in figures.lost_charges:
        figures.lost_charges.append(what)


def twice(figures, what):
    if what not in figures.twice:
        figures.twice.append(what)


async def compare_over_http(here, figures):
    acknowledged = dict(figures.acknowledged)
    try:
        charges = await here.charges()
    except analysts.BROKEN:
        # Killed meanwhile: it is looked at again after the next start, and at the end.
        return
    figures.events["books compared"] += 1
    compare(figures, acknowledged, charges)


async def close(here, figures):
    """At the end, from the ledger itself, while no server runs."""
    await verify(here, figures, "at the end")
    code, out, err = await here.deniable("budget", "--json")
    if code != 0:
        figures.ledger_failed("at the end", f"the charges cannot be read: {err.strip() or out.strip()}")
        return
    spent = json.loads(out)
    compare(figures, figures.acknowledged, spent["charges"])
    figures.check_budget(spent["charges"], spent["enforced"]["over"], here.budget)


async def check_receipts(here, figures, random):
    """The signed receipts of some answers, as whoever got them checks them: the signature, the table and the entry of the ledger."""
    chosen = random.sample(figures.answered, min(MOST_RECEIPTS, len(figures.answered)))
    for question, answer in chosen:
        asker = analysts.OverHttp(here, question.analyst, "127.0.0.1")
        try:
            # Asked again, and not looked up by its number: the number may be lost in a kill, the answer not.
            body = await asyncio.wait_for(asker.ask_for_bytes(question), 60)
        except (analysts.Refusal, *analysts.BROKEN) as broken:
            figures.lost_charges.append(f"answer {answer.charge} cannot be had again: {broken!r}")
            continue
        finally:
            asker.close()
        again = analysts.answer_of(body)
        if again.shown() != answer.shown() or again.charge != answer.charge:
            figures.differing.append(f"answer {answer.charge}, asked again: {answer.shown()}, then {again.shown()} of charge {again.charge}")
        path = os.path.join(here.folder, "answer.json")
        with open(path, "wb") as file:
            file.write(body)
        code, _, err = await here.deniable("receipt", "verify", path, "--sql", question.sql)
        if code == 0:
            figures.receipts += 1
        else:
            figures.wrong.append(f"the receipt of charge {answer.charge} does not hold: {err.strip()}")
