"""SPEC.md 3.2 to 3.5 and 6: JSON values, their canonical form, aegis-jcs-1 and the hashes made with it."""

import hashlib
import re
from dataclasses import dataclass

DEPTH_MAX = 64
INTEGER_MAX = 2**53 - 1
DIGEST = re.compile("[0-9a-f]{64}")
SIGNATURE = re.compile("[0-9a-f]{128}")


class NotJson(Exception):
    """Not a text of RFC 8259."""


class Refused(Exception):
    """A JSON text that section 6 refuses."""


# ---------------------------------------------------------------------------------------------------------------
# 3.2 to 3.4 - values and their canonical form
# ---------------------------------------------------------------------------------------------------------------


@dataclass
class Literal:
    """A number that is not an integer of 3.2, kept as it is spelt."""

    text: str


@dataclass
class Json:
    """A JSON text that was read, and what the sections judge beside its value."""

    value: object = None
    depth: int = 0
    has_null: bool = False
    has_other_number: bool = False
    has_repeated_name: bool = False
    has_astral_name: bool = False


# No part of this expression can match one text in two ways, so that matching is linear; `*+` never goes back.
TOKEN = re.compile(
    r"""[ \t\n\r]*+
    (?: (?P<open>   [\[{] )
      | (?P<close>  [\]}] )
      | (?P<comma>  , )
      | (?P<colon>  : )
      | (?P<string> "(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9A-Fa-f]{4})*+" )
      | (?P<number> -?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+ )
      | (?P<word>   true|false|null )
    )""",
    re.VERBOSE,
)
WHITE_SPACE = re.compile(r"[ \t\n\r]*+")
WORDS = {"true": True, "false": False, "null": None}

# What may come next while a text is read.
VALUE, VALUE_OR_CLOSE, NAME, NAME_OR_CLOSE, COLON, COMMA_OR_CLOSE = range(6)


def read_json(text):
    """RFC 8259, one value. Keeps its own stack: the depth of the text costs memory, never recursion."""
    found = Json()
    containers, names = [], []  # open ones, outermost first; of each the name of the member that is being read
    expect, at = VALUE, 0
    while True:
        token = TOKEN.match(text, at)
        if token is None:
            raise NotJson
        at, kind, lexeme = token.end(), token.lastgroup, token[token.lastgroup]
        in_object = bool(containers) and isinstance(containers[-1], dict)
        if kind == "open" and expect in (VALUE, VALUE_OR_CLOSE):
            container = {} if lexeme == "{" else []
            put(found, containers, names, container)
            containers.append(container)
            names.append(None)
            found.depth = max(found.depth, len(containers))
            expect = NAME_OR_CLOSE if lexeme == "{" else VALUE_OR_CLOSE
        elif kind == "close" and expect in (COMMA_OR_CLOSE, NAME_OR_CLOSE if in_object else VALUE_OR_CLOSE):
            if not containers or lexeme != ("}" if in_object else "]"):
                raise NotJson
            containers.pop()
            names.pop()
            expect = COMMA_OR_CLOSE
        elif kind == "comma" and expect == COMMA_OR_CLOSE:
            expect = NAME if in_object else VALUE
        elif kind == "colon" and expect == COLON:
            expect = VALUE
        elif kind == "string" and expect in (NAME, NAME_OR_CLOSE):
            names[-1] = string_value(lexeme)
            expect = COLON
        elif kind in ("string", "number", "word") and expect in (VALUE, VALUE_OR_CLOSE):
            put(found, containers, names, scalar(found, kind, lexeme))
            expect = COMMA_OR_CLOSE
        else:
            raise NotJson
        if expect == COMMA_OR_CLOSE and not containers:
            break
    if WHITE_SPACE.fullmatch(text, at) is None:
        raise NotJson
    return found


def put(found, containers, names, value):
    """Puts a value where it belongs: in the innermost open container, or at the top."""
    if not containers:
        found.value = value
    elif isinstance(containers[-1], list):
        containers[-1].append(value)
    else:
        name = names[-1]
        found.has_repeated_name |= name in containers[-1]
        found.has_astral_name |= any(character > "\uffff" for character in name)
        containers[-1][name] = value


def scalar(found, kind, lexeme):
    if kind == "string":
        return string_value(lexeme)
    if kind == "word":
        found.has_null |= lexeme == "null"
        return WORDS[lexeme]
    # Sixteen digits at most before int(), which would be slow on, or refuse, very long ones.
    if lexeme.isdigit() and len(lexeme) <= 16 and int(lexeme) <= INTEGER_MAX:
        return int(lexeme)
    found.has_other_number = True
    return Literal(lexeme)


ESCAPE = re.compile(r'\\(?:u([0-9A-Fa-f]{4})|(["\\/bfnrt]))')
SHORT_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def string_value(lexeme):
    """The string between the quotes. A lone surrogate stays in it as one code point."""
    if "\\" not in lexeme:
        return lexeme[1:-1]
    units = ESCAPE.sub(lambda e: chr(int(e[1], 16)) if e[1] else SHORT_ESCAPES[e[2]], lexeme[1:-1])
    # Through UTF-16, so that the two halves of a pair become one character.
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


# A.2
CANONICAL_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x20)}
CANONICAL_ESCAPES |= {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 0x22: '\\"', 0x5C: "\\\\"}


def canonical(value):
    """3.3 as text. Only for values whose depth is at most 64. Null and other numbers are those of section 6."""
    if isinstance(value, Literal):
        return number_text(value.text)
    if isinstance(value, str):
        return '"' + value.translate(CANONICAL_ESCAPES) + '"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"


def canonical_bytes(value):
    """3.3 as bytes. None where a lone surrogate keeps the value from having any."""
    try:
        return canonical(value).encode("utf-8")
    except UnicodeEncodeError:
        return None


def sha256_hex(data):
    return hashlib.sha256(data).hexdigest()


def is_integer(value):
    return type(value) is int  # not isinstance: True and False are instances of int


def matches(expression, value):
    return isinstance(value, str) and expression.fullmatch(value) is not None


def same(a, b):
    """Equal in type and value: Python holds True equal to 1."""
    return type(a) is type(b) and a == b


# ---------------------------------------------------------------------------------------------------------------
# 3.5 and A.3 - numbers of parameters; 6 - aegis-jcs-1
# ---------------------------------------------------------------------------------------------------------------


NUMBER_PARTS = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?)0*([0-9]*))?")


def decimal_parts(literal):
    """(is negative, digits without zeros at either end, exponent): the exact value, with no exponent expanded."""
    minus, whole, fraction, exponent_sign, exponent = NUMBER_PARTS.fullmatch(literal).groups(default="")
    digits = (whole + fraction).lstrip("0")
    if digits == "":
        return minus == "-", "", 0
    shift = int(exponent[:20] or "0")  # twenty digits already lie beyond every double and every literal's length
    shift = (-shift if exponent_sign == "-" else shift) - len(fraction)
    trimmed = digits.rstrip("0")
    return minus == "-", trimmed, shift + len(digits) - len(trimmed)


def number_text(literal):
    """3.5, the numbered conditions in order."""
    double = float(literal)
    if double in (float("inf"), float("-inf")):
        raise Refused("a number beyond every double")
    negative, digits, exponent = decimal_parts(literal)
    text = double_text(double)
    if digits != "" and decimal_parts(text) != (negative, digits, exponent):
        raise Refused("a number that no double holds exactly")
    if exponent >= 0 and abs(double) > INTEGER_MAX:
        raise Refused("an integer beyond 2^53-1")
    if negative and digits == "":
        raise Refused("negative zero")
    return text


def double_text(double):
    """A.3. repr() gives the shortest digits that read back, of those the nearest; only the layout differs."""
    negative, s, exponent = decimal_parts(repr(double))
    if s == "":
        return "0"
    k, n = len(s), len(s) + exponent
    if k <= n <= 21:
        text = s + "0" * (n - k)
    elif 0 < n <= 21:
        text = s[:n] + "." + s[n:]
    elif -6 < n <= 0:
        text = "0." + "0" * -n + s
    else:
        text = s[0] + ("." + s[1:] if k > 1 else "") + f"e{n - 1:+d}"
    return ("-" if negative else "") + text


def read_aegis_jcs_1(data):
    """6: (value, canonical bytes) of a source text, or Refused."""
    try:
        found = read_json(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise Refused("not UTF-8") from None
    except NotJson:
        raise Refused("not JSON") from None
    if found.depth > DEPTH_MAX:
        raise Refused("more than 64 levels")
    if found.has_repeated_name:
        raise Refused("a name twice")
    if found.has_astral_name:
        raise Refused("a name with a character above U+FFFF")
    form = canonical_bytes(found.value)
    if form is None:
        raise Refused("a lone surrogate")
    return found.value, form


ACTION_MEMBERS = {"action", "mutates_state", "parameters", "resource", "tool"}
BINDING_INTEGERS = {"quorum", "approve_by", "use_within_ms"}
BINDING_STRINGS = {
    "action_hash", "request_digest", "policy_set_hash", "agent_id", "call_id", "approval_id", "tenant",
    "environment", "source_trust",
}


def action_hash(data):
    """6.1"""
    action, form = read_aegis_jcs_1(data)
    if not isinstance(action, dict) or set(action) != ACTION_MEMBERS:
        raise Refused("not the five members of an action")
    if not isinstance(action["tool"], str) or not isinstance(action["action"], str):
        raise Refused("tool or action is not a string")
    if action["resource"] is not None and not isinstance(action["resource"], str):
        raise Refused("resource is neither a string nor null")
    if not isinstance(action["mutates_state"], bool) or not isinstance(action["parameters"], dict):
        raise Refused("mutates_state or parameters is of another type")
    return sha256_hex(form)


def binding_hash(data):
    """6.2"""
    binding, form = read_aegis_jcs_1(data)
    if not isinstance(binding, dict) or set(binding) != BINDING_STRINGS | BINDING_INTEGERS | {"approver_groups"}:
        raise Refused("not the thirteen members of a binding")
    groups = binding["approver_groups"]
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        raise Refused("approver_groups is not an array of names")
    if not all(isinstance(binding[name], str) for name in BINDING_STRINGS):
        raise Refused("a member is not a string")
    if not all(is_integer(binding[name]) for name in BINDING_INTEGERS):
        raise Refused("a member is not an integer")
    return sha256_hex(form)
