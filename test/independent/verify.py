#!/usr/bin/env python3
"""A second verifier of Agent Action Record files, written from SPEC.md alone.

It shares no line with the verifier of this project: only Python 3.11 or later and its standard library, with its
own reader of JSON and its own Ed25519. It is a check on the other verifier and a reading aid for an auditor. It is
not fast, and it never signs. Read it beside SPEC.md in this order; each function quotes the section it does:

    walk.py      7.2 to 7.4   the steps on each row, and the verdict
    lines.py     7.1, 7.3     rows, Lines, pinned keys, heads
    verify.py    7.9 to 7.11  this file: reports, flags, exit codes
    receipt.py   7.12         receipts
    values.py    3, 6         JSON, canonical form, hashes
    ed25519.py   5.5          signatures

    verify.py [--key HEX]... [--trust-store FILE] [--head FILE|SESSION:SEQ:LINE_HASH] [--json] FILE...
    verify.py --action-hash FILE       the action_hash (6.1) of an action with exactly its five members
    verify.py --binding-hash FILE      the binding_hash (6.2) of a preimage with exactly its thirteen members
    verify.py --ed25519 PUBLIC_KEY SIGNATURE FILE
                                       `accept` or `refuse` (exit 1): the signature of the bytes of FILE (5.5)
    verify.py --receipt FILE --action FILE --now MS --chain-id ID [--agent ID] [--key HEX]... [--trust-store FILE]
                                       `valid`, or the first code of 7.12 that applies (exit 1)
    verify.py --batch                  many runs, one process

`--batch` reads one JSON object from each line of standard input and answers each with one line:

    {"args":["--json","a.aarl"],"files":{"a.aarl":"<base64>"}}
    {"exit":0,"stdout":"...","text":"...","json":"...","stderr":""}

`args` is what the command line would have held; `text` and `json` are both reports of the one run. A name of a file is looked up in `files` and nowhere else; a name
that is not there is a file that cannot be opened. `-` is the entry `-`.
"""

import base64
import io
import json
import re
import sys
from dataclasses import dataclass

sys.dont_write_bytecode = True  # the modules beside this file are source and nothing else

from ed25519 import ed25519_verify
from lines import (
    LINE_MAX, Pin, Rows, UsageError, check_head_against_pins, key_id_of, read_head_argument, read_head_file,
    read_trust_store,
)
from receipt import judge_receipt
from values import DIGEST, SIGNATURE, Refused, action_hash, binding_hash, matches
from walk import Finding, Walk

# ---------------------------------------------------------------------------------------------------------------
# 7.9 and 7.10 - reports
# ---------------------------------------------------------------------------------------------------------------


@dataclass
class Report:
    """What both reports are made of."""

    walk: Walk
    finding: Finding

    @property
    def pinned_ids(self):
        return sorted({key_id_of(pin.public_key) for pin in self.walk.pins or []})

    @property
    def calls(self):
        """(the hundred, how many more)"""
        if self.finding.verdict == "tampered":
            return [], 0
        return self.walk.in_flight, self.walk.in_flight_more

    @property
    def complete_to(self):
        if self.walk.head_state != "matched" or self.finding.verdict == "tampered" or self.walk.had_gap:
            return None
        return (self.walk.head.session, self.walk.head.seq)


def printable(text):
    """7.9: a value from the file, already cut."""
    return "".join(
        "\\\\" if c == "\\" else c if "!" <= c <= "~" else f"\\u{{{ord(c):x}}}"
        for c in text
    )


def first_line(report):
    finding, pinned = report.finding, report.pinned_ids
    if finding.verdict == "verified":
        if report.walk.pins is None:
            return "Verified (unpinned)"
        return f"Verified (pinned to {pinned[0]})" if len(pinned) == 1 else "Verified (pinned)"
    place = f"at line {finding.line}" if finding.at is None else "at session {} seq {}".format(*finding.at)
    return f"{finding.verdict.capitalize()} {finding.reason} {place}"


def text_report(report):
    """7.9"""
    walk, (calls, calls_more) = report.walk, report.calls
    lines = [first_line(report)]
    lines += [f"key_id {key_id}" for key_id in walk.key_ids]
    if walk.key_ids_more:
        lines.append(f"key_id and {walk.key_ids_more} more")
    if walk.first_is_reported and walk.first != 0:
        lines.append(f"starts session {walk.first}")
    lines.append("coverage none" if walk.coverage is None else "coverage session {} seq {}".format(*walk.coverage))
    lines += [f"in_flight {printable(call)}" for call in calls]
    if calls_more:
        lines.append(f"in_flight and {calls_more} more")
    if report.complete_to is None:
        lines.append("completeness not proven")
    else:
        lines.append("complete to session {} seq {}".format(*report.complete_to))
    return "".join(line + "\n" for line in lines)


def position_json(position):
    return None if position is None else {"session_index": position[0], "seq": position[1]}


def json_report(report):
    """7.10. json.dumps escapes just as it says there, and keeps the order of members."""
    walk, finding, (calls, calls_more) = report.walk, report.finding, report.calls
    members = {
        "verdict": finding.verdict,
        "reason": finding.reason,
        "at": position_json(finding.at),
        "line": finding.line,
        "evidence": finding.evidence,
        "trust": {"pinned": walk.pins is not None, "key_ids": report.pinned_ids},
        "key_ids": walk.key_ids,
        "key_ids_more": walk.key_ids_more,
        "first_session": walk.first if walk.first_is_reported else None,
        "coverage": position_json(walk.coverage),
        "in_flight": calls,
        "in_flight_more": calls_more,
        "complete_to": position_json(report.complete_to),
        "lines": walk.lines,
        "sessions": walk.sessions,
    }
    return json.dumps(members, ensure_ascii=True, separators=(",", ":")) + "\n"


# ---------------------------------------------------------------------------------------------------------------
# 7.11 - the command
# ---------------------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What a command ends with. A command without a report has only a text."""

    exit_code: int
    text: str = ""
    json: str = ""
    as_json: bool = False

    @property
    def stdout(self):
        return self.json if self.as_json else self.text


EXIT_CODES = {"verified": 0, "tampered": 1, "indeterminate": 3}
REPEATABLE = ("--key",)


def read_flags(args, flags_with_value):
    """The flags with their values, in lists, and the FILEs. Each flag's own form is judged by who asked for it."""
    values, files, rest = {flag: [] for flag in flags_with_value}, [], list(args)
    as_json = False
    while rest:
        word = rest.pop(0)
        if word == "--json":
            as_json = True
        elif word in flags_with_value:
            if not rest:
                raise UsageError(f"{word}: a value is missing")
            if values[word] and word not in REPEATABLE:
                raise UsageError(f"{word}: given twice")
            values[word].append(rest.pop(0))
        elif word.startswith("-") and word != "-":
            raise UsageError(f"{word}: unknown flag")
        else:
            files.append(word)
    for key in values.get("--key", []):
        if not matches(DIGEST, key):
            raise UsageError("--key: not 64 lowercase hex digits")
    if values.get("--trust-store") == ["-"]:
        raise UsageError("--trust-store: - is not allowed")
    return values, files, as_json


def read_file(open_file, name, limit=-1):
    with open_file(name) as stream:
        return stream.read(limit)


def read_pins(values, open_file, say):
    """7.7: the union of both flags, or None if neither was given."""
    if not values["--key"] and not values["--trust-store"]:
        return None
    pins = [Pin(key) for key in values["--key"]]
    for name in values["--trust-store"]:
        trusted = read_trust_store(read_file(open_file, name))
        if not trusted:
            say(f"--trust-store: {name} holds no key")
        pins += trusted
    return pins


def verify_command(args, open_file, say):
    """7.11: flags first, then the trust store and the head file, then every FILE before the first is read."""
    values, files, as_json = read_flags(args, ("--key", "--trust-store", "--head"))
    if not files:
        raise UsageError("FILE: none given")
    if files.count("-") > 1:
        raise UsageError("FILE: - given twice")
    head = read_head_argument(values["--head"][0]) if values["--head"] else None
    pins = read_pins(values, open_file, say)
    if values["--head"] and head is None:
        head = read_head_file(read_file(open_file, values["--head"][0], LINE_MAX + 2))
        if pins is not None:
            check_head_against_pins(head, pins)
    streams = []
    try:
        for name in files:
            streams.append(open_file(name))
        walk = Walk(pins, head)
        report = Report(walk, walk.run(Rows(streams)))
    finally:
        for stream in streams:
            stream.close()
    return Outcome(EXIT_CODES[report.finding.verdict], text_report(report), json_report(report), as_json)


# ---------------------------------------------------------------------------------------------------------------
# The other commands
# ---------------------------------------------------------------------------------------------------------------


def receipt_command(args, open_file, say):
    flags = ("--receipt", "--action", "--now", "--chain-id", "--agent", "--key", "--trust-store")
    values, files, _ = read_flags(args, flags)
    if files:
        raise UsageError("FILE: not here")
    for flag in ("--receipt", "--action", "--now", "--chain-id"):
        if not values[flag]:
            raise UsageError(f"{flag}: is missing")
    if re.fullmatch("[0-9]{1,16}", values["--now"][0]) is None:
        raise UsageError("--now: not milliseconds")
    pins = read_pins(values, open_file, say) or []
    receipt = read_file(open_file, values["--receipt"][0], LINE_MAX + 2)
    action = read_file(open_file, values["--action"][0])
    agent = values["--agent"][0] if values["--agent"] else None
    code = judge_receipt(receipt, action, int(values["--now"][0]), values["--chain-id"][0], agent, pins)
    return Outcome(0 if code == "valid" else 1, code + "\n")


def hash_command(args, open_file):
    flag, derive = args[0], {"--action-hash": action_hash, "--binding-hash": binding_hash}[args[0]]
    if len(args) != 2:
        raise UsageError(f"{flag}: one FILE")
    try:
        return Outcome(0, derive(read_file(open_file, args[1])) + "\n")
    except Refused as refusal:
        raise UsageError(f"{flag}: {refusal}") from None


def ed25519_command(args, open_file):
    if len(args) != 4 or not matches(DIGEST, args[1]) or not matches(SIGNATURE, args[2]):
        raise UsageError("--ed25519: PUBLIC_KEY SIGNATURE FILE")
    key, signature, message = bytes.fromhex(args[1]), bytes.fromhex(args[2]), read_file(open_file, args[3])
    return Outcome(0, "accept\n") if ed25519_verify(key, signature, message) else Outcome(1, "refuse\n")


def run(args, open_file, say):
    """One command. `say` is given what belongs on stderr."""
    try:
        if args[:1] in (["--action-hash"], ["--binding-hash"]):
            return hash_command(args, open_file)
        if args[:1] == ["--ed25519"]:
            return ed25519_command(args, open_file)
        if args[:1] == ["--receipt"]:
            return receipt_command(args, open_file, say)
        return verify_command(args, open_file, say)
    except UsageError as error:
        say(str(error))
        return Outcome(1)
    except OSError as error:
        say(f"{error.filename or 'FILE'}: cannot be read")
        return Outcome(2)


def run_batch(requests, out):
    for request in requests:
        asked = json.loads(request)
        files, said = asked.get("files", {}), []

        def open_given(name, files=files):
            if name not in files:
                raise FileNotFoundError(2, "not given", name)
            return io.BytesIO(base64.b64decode(files[name]))

        outcome = run(asked["args"], open_given, said.append)
        answer = {"exit": outcome.exit_code, "stdout": outcome.stdout, "text": outcome.text, "json": outcome.json}
        answer["stderr"] = "".join(line + "\n" for line in said)
        out.write(json.dumps(answer).encode("ascii") + b"\n")
        out.flush()


def open_from_disk(name):
    return sys.stdin.buffer if name == "-" else open(name, "rb")


def say_on_stderr(line):
    print(line.encode("ascii", "backslashreplace").decode("ascii"), file=sys.stderr)


def main(args):
    if args == ["--batch"]:
        run_batch(sys.stdin.buffer, sys.stdout.buffer)
        return 0
    outcome = run(args, open_from_disk, say_on_stderr)
    sys.stdout.buffer.write(outcome.stdout.encode("ascii"))
    sys.stdout.buffer.flush()
    return outcome.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
