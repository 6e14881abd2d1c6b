"""SPEC.md 7.1, 7.3 (steps 1 to 6), 7.6, 7.7, 7.8: rows, Lines, pinned keys and heads."""

import hashlib
import re
from dataclasses import dataclass

from ed25519 import ed25519_verify
from values import (
    DEPTH_MAX, DIGEST, INTEGER_MAX, SIGNATURE, NotJson, Refused, canonical_bytes, is_integer, matches,
    read_aegis_jcs_1, read_json, same, sha256_hex,
)

LINE_MAX = 65_536
CUT = 128

HEAD = re.compile("(0|[1-9][0-9]{0,15}):(0|[1-9][0-9]{0,15}):([0-9a-f]{64})")
LOOKS_LIKE_HEAD = re.compile("[0-9]+:[0-9]+:")

SIGNED_TYPES = ("open", "outcome", "decision", "close", "checkpoint")
ALL_TYPES = SIGNED_TYPES + ("intent",)


class Tampered(Exception):
    """The `T` of 7.3, and the reason for which a head file or a receipt is not a Line."""

    def __init__(self, reason, evidence=None):
        super().__init__(reason)
        self.reason = reason
        self.evidence = evidence


class UsageError(Exception):
    """7.11, exit code 1 with nothing on stdout."""


# ---------------------------------------------------------------------------------------------------------------
# 7.1 - rows; 7.3, steps 1 to 6 - from a row to a Line
# ---------------------------------------------------------------------------------------------------------------


def key_id_of(public_key):
    """5.4, from and to hex."""
    return sha256_hex(bytes.fromhex(public_key))


def split_rows(streams):
    """7.1: the rows that are not empty. Holds one row and one chunk; of a longer row only its beginning."""
    row = bytearray()
    for stream in streams:
        while chunk := stream.read(LINE_MAX):
            *ended, rest = chunk.split(b"\n")
            for piece in ended:
                row += piece
                if row:
                    yield bytes(row)
                row.clear()
            row += rest
            if len(row) > LINE_MAX:
                yield bytes(row)
                return  # step 1 ends the walk
        if row:  # the end of a file ends a row
            yield bytes(row)
        row.clear()


class Rows:
    """The rows in order. What is behind the current row is read only when it is asked for."""

    def __init__(self, streams):
        self.source = split_rows(streams)
        self.ahead = []

    def next(self):
        return self.ahead.pop() if self.ahead else next(self.source, None)

    def at_last(self):
        if not self.ahead:
            row = next(self.source, None)
            if row is None:
                return True
            self.ahead.append(row)
        return False


@dataclass
class Line:
    """A row that passed steps 1 to 6. There is no null in a Line, so None stands for an absent member."""

    row: bytes
    members: dict

    def __getitem__(self, name):
        return self.members.get(name)

    @property
    def line_hash(self):
        """5.3; the row is the canonical form."""
        return sha256_hex(self.row)

    @property
    def signing_input(self):
        """5.2"""
        return canonical_bytes({name: value for name, value in self.members.items() if name != "signature"})

    def signature_fault(self, public_key):
        """7.3, step 9.1: None if the signature is good, else the source of the fault."""
        if self["signature"] is None:
            return "unsigned"
        if not matches(SIGNATURE, self["signature"]):
            return "malformed"
        signature = bytes.fromhex(self["signature"])
        good = ed25519_verify(bytes.fromhex(public_key), signature, self.signing_input)
        return None if good else "invalid"


def read_line(row):
    """7.3, steps 1 to 6."""
    if len(row) > LINE_MAX:
        raise Tampered("line_too_long", {"max": LINE_MAX})
    try:
        text = row.decode("utf-8")
    except UnicodeDecodeError:
        raise Tampered("not_utf8") from None
    try:
        found = read_json(text.removeprefix("\ufeff"))
    except NotJson:
        raise Tampered("malformed_line") from None
    if not isinstance(found.value, dict):
        raise Tampered("not_an_object")
    if found.has_null or found.has_other_number or found.depth > DEPTH_MAX:
        raise Tampered("value_not_allowed")
    if found.has_repeated_name or canonical_bytes(found.value) != row:
        raise Tampered("not_canonical")
    line = Line(row, found.value)
    if not isinstance(line["line_type"], str):
        raise Tampered("member_invalid", {"member": "line_type"})
    if not is_integer(line["seq"]):
        raise Tampered("member_invalid", {"member": "seq"})
    if not matches(DIGEST, line["prev_hash"]):
        raise Tampered("member_invalid", {"member": "prev_hash"})
    return line


def shown(value):
    """7.6"""
    if value is None:
        return "absent"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return value[:CUT]
    if isinstance(value, int):
        return value
    return "object" if isinstance(value, dict) else "array"


def want_got(want, value):
    return {"want": want, "got": shown(value)}


# ---------------------------------------------------------------------------------------------------------------
# 7.7 - pins; 7.8 - heads
# ---------------------------------------------------------------------------------------------------------------


@dataclass
class Pin:
    """One pinned key. None is a bound, or a Chain, that was not given."""

    public_key: str
    chain: str | None = None
    first: int | None = None
    last: int | None = None

    def holds(self, chain, session):
        """A session of None is one that is not known: a key with a range does not hold for it."""
        if self.chain is not None and self.chain != chain:
            return False
        if session is None:
            return self.first is None and self.last is None
        return (self.first is None or self.first <= session) and (self.last is None or session <= self.last)


def read_trust_store(data):
    """7.7: the pins of a store."""
    try:
        _, form = read_aegis_jcs_1(data)
    except Refused as refusal:
        raise UsageError(f"--trust-store: {refusal}") from None
    store = read_json(form.decode("utf-8")).value  # numbers by value: 1.0 is written 1 in the canonical form
    if not isinstance(store, dict) or not isinstance(store.get("keys"), list):
        raise UsageError("--trust-store: not an object with keys")
    chain = store.get("chain_id")
    if "chain_id" in store and not isinstance(chain, str):
        raise UsageError("--trust-store: chain_id is not a string")
    return [read_trusted_key(entry, chain) for entry in store["keys"]]


def read_trusted_key(entry, chain):
    if not isinstance(entry, dict) or not matches(DIGEST, entry.get("public_key")):
        raise UsageError("--trust-store: a public_key is not 64 lowercase hex digits")
    first, last = entry.get("first_session"), entry.get("last_session")  # null is as if absent
    if not all(bound is None or is_integer(bound) for bound in (first, last)):
        raise UsageError("--trust-store: first_session or last_session is not an integer")
    return Pin(entry["public_key"], chain, first, last)


@dataclass
class Head:
    session: int
    seq: int
    line_hash: str
    line: Line | None = None  # of a head file

    def is_good_under(self, public_key):
        return self.line["key_id"] == key_id_of(public_key) and self.line.signature_fault(public_key) is None


def read_head_argument(argument):
    """7.8: a Head, or None if the argument names a file."""
    if argument == "-":
        raise UsageError("--head: - is not allowed")
    if LOOKS_LIKE_HEAD.match(argument) is None:
        return None
    parts = HEAD.fullmatch(argument)
    if parts is None or int(parts[1]) > INTEGER_MAX or int(parts[2]) > INTEGER_MAX:
        raise UsageError("--head: not SESSION:SEQ:LINE_HASH")
    return Head(int(parts[1]), int(parts[2]), parts[3])


def read_head_file(data):
    """7.8: what a head file must be, before any key comes into it."""
    try:
        line = read_line(data.removesuffix(b"\n"))
    except Tampered as fault:
        raise UsageError(f"--head: {fault.reason}") from None
    if not same(line["schema_version"], 2):
        raise UsageError("--head: schema_version is not 2")
    if line["line_type"] not in SIGNED_TYPES:
        raise UsageError("--head: not a signed Line")
    if not is_integer(line["session_index"]):
        raise UsageError("--head: no session_index")
    if line["chain_id"] is not None and not isinstance(line["chain_id"], str):
        raise UsageError("--head: chain_id is not a string")
    if not matches(DIGEST, line["key_id"]) or not matches(SIGNATURE, line["signature"]):
        raise UsageError("--head: no key_id or no signature")
    return Head(line["session_index"], line["seq"], line.line_hash, line)


def check_head_against_pins(head, pins):
    """7.8.1"""
    holding = [pin for pin in pins if pin.holds(head.line["chain_id"], head.session)]
    if not any(head.is_good_under(pin.public_key) for pin in holding):
        raise UsageError("--head: not signed by a pinned key")
