"""An agent in Python that asks before it acts, with nothing but the standard library.

    AEGIS_URL=http://127.0.0.1:8787 AEGIS_API_KEY=aegis_agent_... python3 examples/python/agent.py FILE TEXT

`npm run dev` prints the first two. `protected` is the part to take along: it authorizes exactly what will run, waits
where a human must approve, uses the approval once, runs, and reports. Whatever goes wrong, it raises, and nothing runs.
It believes whoever answers at AEGIS_URL, so that must be https: outside this machine; `aegis receipt verify` checks
the signature of the receipt that it hands to the tool.
"""

import hashlib
import json
import os
import random
import secrets
import sys
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone

NUMBER_MAX = 2**53 - 1


class Refused(Exception):
    """Nothing may run: denied, not approved, or no decision that can be believed."""


def plain(value):
    """A deep copy of plain JSON. A float has several spellings, and some integers have no double: send strings."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if type(value) is int and abs(value) <= NUMBER_MAX:
        return value
    if type(value) is list:
        return [plain(item) for item in value]
    if type(value) is dict and all(isinstance(key, str) and max(key, default="") <= "\uffff" for key in value):
        return {key: plain(item) for key, item in value.items()}
    raise Refused(f"{type(value).__name__} has no exact form in JSON")


def canonical(value):
    """SPEC.md, section 6.1: keys sorted, no space, UTF-8. Half a surrogate pair raises."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None


def unique(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Refused("the answer names a member twice")
    return members


class Aegis:
    def __init__(self, url, key, timeout=10):
        self.url, self.key, self.timeout = url.rstrip("/"), key, timeout
        self.opener = urllib.request.build_opener(NoRedirect)

    def ask(self, method, path, data=None):
        """One 200, read strictly. A retry sends the same bytes, and so never counts twice."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        for attempt in range(3):
            try:
                with self.opener.open(request, timeout=self.timeout) as answer:
                    if answer.status != 200 or answer.headers.get_content_type() != "application/json":
                        raise Refused(f"the authorizer answered {answer.status}")
                    return json.loads(answer.read(524_288), object_pairs_hook=unique)
            except urllib.error.HTTPError as error:
                if error.code not in (429, 502, 503, 504) or attempt == 2:
                    raise Refused(f"the authorizer answered {error.code}: {error.read(4096).decode()}") from error
            except (OSError, ValueError) as error:
                if attempt == 2:
                    raise Refused(f"no answer: {error}") from error
            time.sleep((0.5 + random.random() / 2) * 2**attempt)

    def decide(self, path, body, tool_call, approval=None):
        """A decision whose receipt is about these very bytes and this very action."""
        data = canonical(body)
        answer = self.ask("POST", path, data)
        line = json.loads(answer["receipt"]["line"], object_pairs_hook=unique)
        axes = line["decision_axes"]
        if (
            line["request_digest"] != sha256(data)
            or line["action_hash"] != sha256(canonical(tool_call))
            or line["call_id"] != answer["call_id"]
            or axes.get("approval_ref") != (approval and approval["approval_id"])
        ):
            raise Refused("the receipt is for something else")
        if answer["decision"] == "allow" and line["execution"]["status"] != "delegated":
            raise Refused("the receipt says something else")
        return answer

    def wait(self, approval):
        """Until a human has decided, ever more rarely; the authorizer itself ends it."""
        pause = 1.0
        while True:
            state = self.ask("GET", f"/v1/approvals/{approval['approval_id']}")
            if state["binding_hash"] != approval["binding_hash"]:
                raise Refused("the state is of another approval")
            if state["state"] == "approved":
                return
            if state["state"] != "pending":
                raise Refused(f"{approval['approval_id']} is {state['state']}")
            time.sleep(pause * (0.5 + random.random() / 2))
            pause = min(10.0, pause * 1.5)

    def protected(self, run, *, tool, action, parameters, resource=None, mutates=True, on_approval=None):
        """Calls `run(parameters, receipt_line)` with a copy of the parameters, if that is allowed."""
        tool_call = {
            "tool": tool,
            "action": action,
            "resource": resource,
            "mutates_state": mutates,
            "parameters": plain(parameters),
        }
        action_hash = sha256(canonical(tool_call))
        sent = time.monotonic()
        answer = self.decide(
            "/v1/authorize",
            {
                "request_id": f"req_{secrets.token_hex(16)}",
                "timestamp": datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "tool_call": tool_call,
                "action_hash": action_hash,
                "context": {"source_trust": "unknown"},
            },
            tool_call,
        )
        if answer["decision"] == "require_approval":
            approval = answer["approval"]
            if on_approval:
                on_approval(approval)
            self.wait(approval)
            sent = time.monotonic()
            answer = self.decide(
                f"/v1/approvals/{approval['approval_id']}/consume",
                {
                    "request_id": f"req_{secrets.token_hex(16)}",
                    "action_hash": action_hash,
                    "binding_hash": approval["binding_hash"],
                },
                tool_call,
                approval,
            )
        if answer["decision"] != "allow":
            raise Refused(f"{answer['decision']}: {answer['reason']['code']}")
        grant = answer["grant"]
        if (time.monotonic() - sent) * 1000 >= grant["expires_in_ms"]:
            raise Refused("the grant has ended on the way")
        execution = {"status": "success"}
        try:
            return run(tool_call["parameters"], answer["receipt"]["line"])
        except BaseException as error:
            # The class and no more: a message may hold what the tool was given.
            execution = {"status": "trap", "message": type(error).__name__}
            raise
        finally:
            report = {"call_id": answer["call_id"], "grant_id": grant["grant_id"], "execution": execution}
            try:
                self.ask("POST", "/v1/reports", canonical(report))
            except Refused as error:
                print(f"not reported: {error}", file=sys.stderr)


def write(parameters, receipt):
    with open(parameters["path"], "w", encoding="utf-8") as file:
        file.write(parameters["text"])
    return f"wrote {parameters['path']} under {json.loads(receipt)['grant_id']}"


if __name__ == "__main__":
    aegis = Aegis(os.environ["AEGIS_URL"], os.environ["AEGIS_API_KEY"])
    try:
        print(
            aegis.protected(
                write,
                tool="files",
                action="write",
                parameters={"path": sys.argv[1], "text": sys.argv[2]},
                on_approval=lambda approval: print(
                    f"{approval['approval_id']} waits for {' or '.join(approval['groups'])}", flush=True
                ),
            )
        )
    except Refused as refused:
        sys.exit(f"refused: {refused}")
