"""SPEC.md 7.12: a receipt against the action that is about to run."""

from lines import Tampered, key_id_of, read_line
from values import Refused, action_hash, is_integer, same


def member(value, *path):
    """A member at a path of names; None where there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def judge_receipt(data, action, now, chain, agent, pins):
    """7.12: the code of the first check that fails, else `valid`."""
    try:
        line = read_line(data.removesuffix(b"\n"))
    except Tampered:
        return "malformed"
    if line["line_type"] != "outcome" or not same(line["schema_version"], 2):
        return "not_an_outcome"
    if line["chain_id"] != chain:
        return "wrong_chain"
    session = line["session_index"] if is_integer(line["session_index"]) else None
    holding = [pin for pin in pins if pin.holds(chain, session) and key_id_of(pin.public_key) == line["key_id"]]
    if not holding:
        return "untrusted_key"
    if line.signature_fault(holding[0].public_key) is not None:
        return "bad_signature"
    statuses = [member(line.members, part, "status") for part in ("policy", "capability", "execution")]
    if statuses != ["allowed", "granted", "delegated"]:
        return "not_granted"
    if not isinstance(member(line.members, "capability", "grant", "grant_id"), str):
        return "not_granted"
    if not isinstance(line["tool_id"], str) or line["tool_id"].startswith("aegis/"):
        return "reserved_tool"
    if agent is not None and line["agent_id"] != agent:
        return "wrong_agent"
    try:
        expected = action_hash(action)
    except Refused:
        expected = None
    if expected is None or member(line.members, "capability", "grant", "action_hash") != expected:
        return "wrong_action"
    if not is_integer(line["decided_at"]) or line["decided_at"] > now + 60_000:
        return "not_yet_valid"
    expires_at = member(line.members, "capability", "grant", "expires_at")
    if not is_integer(expires_at) or now >= expires_at:
        return "expired"
    return "valid"
