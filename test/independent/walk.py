"""SPEC.md 7.2 to 7.4: the walk over the rows, from the first to the verdict."""

import hashlib
from dataclasses import dataclass, field

from lines import ALL_TYPES, CUT, SIGNED_TYPES, Head, Tampered, UsageError, key_id_of, read_line, shown, want_got
from values import DIGEST, is_integer, matches, same

SHOWN_MAX = 100
ZERO_DIGEST = "0" * 64


@dataclass
class Finding:
    """A reason with its place. `at` is (session, seq), or None where the place is a row."""

    verdict: str
    reason: str | None = None
    line: int | None = None
    at: tuple | None = None
    evidence: dict | None = None


@dataclass
class Walk:
    """7.2. `pins` is None where none are pinned."""

    pins: list | None
    head: Head | None
    session: int | None = None  # I
    first: int | None = None
    chain: str | None = None
    indexed: bool = False
    key: str | None = None
    key_id: str | None = None
    expected: int = 0
    last_hash: str | None = None
    closed: bool = False
    coverage: tuple | None = None
    in_flight: list = field(default_factory=list)  # the first hundred
    in_flight_more: int = 0
    decided: set = field(default_factory=set)
    head_state: str = "none"
    reason: Finding | None = None

    row_number: int = 0
    at: tuple | None = None  # position of the Line in hand; of the last Line at the end
    ends_in_close: bool = False
    had_gap: bool = False
    first_is_reported: bool = False
    key_ids: list = field(default_factory=list)
    key_ids_more: int = 0
    lines: int = 0
    sessions: int = 0

    def run(self, rows):
        """7.3 over all rows, then 7.4."""
        self.head_state = "none" if self.head is None else "waiting"
        torn = False
        while (row := rows.next()) is not None:
            self.row_number += 1
            try:
                self.take(row)
            except Tampered as fault:
                if fault.reason in ("not_utf8", "malformed_line") and rows.at_last():
                    torn = True
                    break
                return Finding("tampered", fault.reason, self.row_number, self.at, fault.evidence)
        return self.end(torn)

    def end(self, torn):
        """7.4"""
        if self.reason is not None:
            return self.reason
        if self.row_number == 0:
            return Finding("indeterminate", "empty_chain", 0)
        if torn:
            return Finding("indeterminate", "torn_final_line", self.row_number)
        if not self.ends_in_close:
            return Finding("indeterminate", "unanchored_tail", self.row_number, self.at)
        if self.head_state == "waiting":
            reason = "head_not_in_file" if self.head.session < self.first else "before_head"
            evidence = {"session_index": self.head.session, "seq": self.head.seq}
            return Finding("indeterminate", reason, self.row_number, self.at, evidence)
        return Finding("verified")

    def indeterminate(self, reason, evidence=None):
        """The `I` of 7.3."""
        if self.reason is None:
            self.reason = Finding("indeterminate", reason, self.row_number, self.at, evidence)

    def take(self, row):
        """7.3: the steps on one row."""
        self.at = None
        line = read_line(row)
        if line["line_type"] == "open":
            self.link_open(line)
        else:
            self.link_other(line)
        self.check_version(line)
        if line["line_type"] in SIGNED_TYPES or (line["line_type"] != "intent" and "signature" in line.members):
            self.check_signature(line)
            self.cover(line)
        self.check_type(line)
        self.check_decided_once(line)
        self.check_head(line)
        self.accept(line)

    def link_open(self, line):
        """Step 7 of an `open`. A session of None: this is the input's first."""
        index = line["session_index"]
        is_first = self.session is None
        if is_first:
            session = index if is_integer(index) else 0
        else:
            session = self.session + 1
        self.at = (session, line["seq"])
        if line["seq"] != 0:
            raise Tampered("seq_mismatch", {"want": 0, "got": line["seq"]})
        if line["prev_hash"] != ZERO_DIGEST:
            raise Tampered("prev_hash_mismatch", {"want": ZERO_DIGEST, "got": line["prev_hash"]})
        if is_first:
            self.start_chain(line)
        else:
            self.continue_chain(line, session)
        if not matches(DIGEST, line["public_key"]):
            raise Tampered("public_key_invalid", {"got": shown(line["public_key"])})
        if self.pins is not None and not self.is_trusted(line["public_key"], session):
            raise Tampered("untrusted_key", {"got": line["public_key"]})
        self.session = session
        if is_first:
            self.first = session
        self.key, self.key_id = line["public_key"], key_id_of(line["public_key"])
        self.closed = False
        self.expected = 1

    def is_trusted(self, public_key, session):
        return any(pin.public_key == public_key and pin.holds(self.chain, session) for pin in self.pins)

    def start_chain(self, line):
        """Steps 7.3 to 7.5 of the input's first `open`."""
        tail, chain, index = line["prev_session_tail"], line["chain_id"], line["session_index"]
        if tail is not None and not matches(DIGEST, tail):
            raise Tampered("session_tail_mismatch", want_got("digest", tail))
        if is_integer(index) and index > 0 and tail is None:
            raise Tampered("session_tail_mismatch", want_got("digest", tail))
        if is_integer(index) and index == 0 and tail is not None:
            raise Tampered("session_tail_mismatch", want_got("absent", tail))
        if chain is not None and not isinstance(chain, str):
            raise Tampered("chain_id_mismatch", want_got("string", chain))
        if index is not None and not is_integer(index):
            raise Tampered("session_index_mismatch", want_got("integer", index))
        self.chain = chain
        self.indexed = index is not None

    def continue_chain(self, line, session):
        """Steps 7.3 to 7.5 of a later `open`."""
        if line["prev_session_tail"] != self.last_hash:
            raise Tampered("session_tail_mismatch", want_got(self.last_hash, line["prev_session_tail"]))
        if not same(line["chain_id"], self.chain):
            raise Tampered("chain_id_mismatch", want_got(shown(self.chain), line["chain_id"]))
        wanted = session if self.indexed else None
        if not same(line["session_index"], wanted):
            raise Tampered("session_index_mismatch", want_got(shown(wanted), line["session_index"]))

    def link_other(self, line):
        """Step 7 of every other type."""
        if self.session is None:
            raise Tampered("line_before_open", {"line_type": shown(line["line_type"])})
        self.at = (self.session, line["seq"])
        if line["prev_hash"] != self.last_hash:
            raise Tampered("prev_hash_mismatch", {"want": self.last_hash, "got": line["prev_hash"]})
        numbers = {"want": self.expected, "got": line["seq"]}
        if line["seq"] < self.expected:
            raise Tampered("seq_mismatch", numbers)
        if line["seq"] > self.expected:
            self.had_gap = True
            self.indeterminate("seq_gap", numbers)
        self.expected = line["seq"] + 1
        if self.closed and line["line_type"] in ("intent", "outcome", "decision", "close"):
            raise Tampered("line_after_close", {"line_type": line["line_type"]})

    def check_version(self, line):
        """Step 8."""
        version = line["schema_version"]
        if version is None:
            raise Tampered("schema_version_missing")
        if not same(version, 2):
            self.indeterminate("schema_version_unsupported", want_got(2, version))

    def check_signature(self, line):
        """Step 9, what is judged."""
        fault = line.signature_fault(self.key)
        if fault is not None:
            raise Tampered("bad_signature", {"source": fault})
        if line["key_id"] != self.key_id:
            raise Tampered("key_id_mismatch", want_got(self.key_id, line["key_id"]))
        chain, index = line["chain_id"], line["session_index"]
        if chain is not None and not same(chain, self.chain):
            raise Tampered("chain_id_mismatch", want_got(shown(self.chain), chain))
        wanted = self.session if self.indexed else None
        if index is not None and not same(index, wanted):
            raise Tampered("session_index_mismatch", want_got(shown(wanted), index))

    def cover(self, line):
        """Step 9, what follows from a good signature."""
        self.coverage = (self.session, line["seq"])
        self.in_flight, self.in_flight_more = [], 0
        if line["line_type"] == "close":
            self.closed = True
        if line["line_type"] == "open":
            self.sessions += 1
            self.first_is_reported = True
            if self.key_id not in self.key_ids:
                if len(self.key_ids) < SHOWN_MAX:
                    self.key_ids.append(self.key_id)
                else:
                    self.key_ids_more += 1
            self.check_head_against_open(line)

    def check_head_against_open(self, line):
        """7.8.2 and 7.8.3, directly after step 9."""
        if self.head is None or self.head.line is None:
            return
        if self.sessions == 1 and not same(self.head.line["chain_id"], line["chain_id"]):
            raise UsageError("--head: of another Chain")
        if self.pins is None and self.session == self.head.session and not self.head.is_good_under(self.key):
            raise UsageError("--head: not signed by the key of its Session")

    def check_type(self, line):
        """Step 10."""
        if line["line_type"] == "checkpoint":
            self.indeterminate("checkpoint")
        elif line["line_type"] not in ALL_TYPES:
            self.indeterminate("unknown_line_type", {"line_type": shown(line["line_type"])})

    def check_decided_once(self, line):
        """Step 11."""
        approval = line["approval_id"]
        if line["line_type"] != "decision" or not isinstance(approval, str):
            return
        digest = hashlib.sha256(approval.encode("utf-8")).digest()
        if digest in self.decided:
            raise Tampered("second_decision", {"approval_id": shown(approval)})
        self.decided.add(digest)

    def check_head(self, line):
        """Step 12."""
        if self.head_state != "waiting":
            return
        head, seq, line_type = self.head, line["seq"], line["line_type"]
        if self.session == head.session and seq == head.seq:
            if line.line_hash != head.line_hash:
                raise Tampered("forked", {"want": head.line_hash, "got": line.line_hash})
            self.head_state = "matched"
        elif self.session == head.session and seq > head.seq:
            self.head_state = "skipped"
        elif self.session == head.session and line_type == "close":
            raise Tampered("forked", {"want": head.line_hash, "got": "absent"})
        elif self.session > head.session >= self.first and line_type == "open":
            raise Tampered("forked", {"want": head.line_hash, "got": "absent"})

    def accept(self, line):
        """Step 13."""
        self.last_hash = line.line_hash
        self.lines += 1
        self.ends_in_close = line["line_type"] == "close"
        if line["line_type"] == "intent":
            call = line["call_id"]
            if len(self.in_flight) < SHOWN_MAX:
                self.in_flight.append(call[:CUT] if isinstance(call, str) and call != "" else "-")
            else:
                self.in_flight_more += 1
