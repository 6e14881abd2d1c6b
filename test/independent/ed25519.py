"""SPEC.md 5.5: Ed25519, strictly. It verifies only; nothing here handles a secret, so nothing is constant-time."""

import functools
import hashlib

p = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
d = 37095705934669439343138083508754565189542113879843219016388785533085940283555
SQRT_MINUS_1 = 19681161376707505956807079304988542015446066515923890162744021073123829784752
B_X = 15112221349535400772501151409588531511454012693041857206046113283949847762202
B_Y = 46316835694926478169428394003475163141307993866256225615783033603165251855960

# A point is (X, Y, Z, T) with x = X/Z, y = Y/Z and x*y = T/Z, so that an addition needs no division.
NEUTRAL = (0, 1, 1, 0)


def add(a, b):
    """The addition of 5.5 in these coordinates. It is complete: right for equal, opposite and neutral points."""
    x1, y1, z1, t1 = a
    x2, y2, z2, t2 = b
    difference = (y1 - x1) * (y2 - x2) % p
    total = (y1 + x1) * (y2 + x2) % p
    t = 2 * d * t1 % p * t2 % p
    z = 2 * z1 * z2 % p
    e, f, g, h = total - difference, z - t, z + t, total + difference
    return e * f % p, g * h % p, f * g % p, e * h % p


def multiples(point):
    """Sixty-four rows; row i holds 0, 1, ... 15 times 16^i times the point."""
    table = []
    for _ in range(64):
        row = [NEUTRAL]
        for _ in range(15):
            row.append(add(row[-1], point))
        table.append(row)
        point = add(row[15], point)
    return table


def times(table, scalar):
    """A scalar below 2^256 times the point of the table: one addition for each hex digit."""
    product = NEUTRAL
    for row in table:
        product = add(product, row[scalar & 15])
        scalar >>= 4
    return product


def encode(point):
    x, y, z, _ = point
    inverse = pow(z, -1, p)
    x, y = x * inverse % p, y * inverse % p
    return (y | (x & 1) << 255).to_bytes(32, "little")


def decode(data):
    """A point, or None where 5.5 refuses."""
    number = int.from_bytes(data, "little")
    s, y = number >> 255, number & (2**255 - 1)
    if y >= p:
        return None
    u, v = (y * y - 1) % p, (d * y * y + 1) % p
    x = u * v**3 * pow(u * v**7, (p - 5) // 8, p) % p
    if v * x * x % p == u:
        pass
    elif v * x * x % p == -u % p:
        x = x * SQRT_MINUS_1 % p
    else:
        return None
    if x == 0 and s == 1:
        return None
    if x & 1 != s:
        x = p - x
    return x, y, 1, x * y % p


def has_small_order(point):
    for _ in range(3):
        point = add(point, point)
    x, y, z, _ = point
    return x == 0 and y == z


BASE_MULTIPLES = multiples((B_X, B_Y, 1, B_X * B_Y % p))


@functools.lru_cache(maxsize=16)
def minus_key_multiples(key):
    """The table of -A: built once for a Session's key. None where the key is refused."""
    point = decode(key)
    if point is None or has_small_order(point):
        return None
    x, y, z, t = point
    return multiples((-x % p, y, z, -t % p))


def ed25519_verify(key, signature, message):
    """5.5, steps 1 to 5."""
    r_bytes, s = signature[:32], int.from_bytes(signature[32:], "little")
    if s >= L:
        return False
    minus_a, r = minus_key_multiples(key), decode(r_bytes)
    if minus_a is None or r is None or has_small_order(r):
        return False
    k = int.from_bytes(hashlib.sha512(r_bytes + key + message).digest(), "little") % L
    return encode(add(times(BASE_MULTIPLES, s), times(minus_a, k))) == r_bytes
