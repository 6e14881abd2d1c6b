/**
 * Which addresses are somewhere on the public internet, and not inside somebody's network (RFC 6890 and its registries).
 * A list of what is allowed for IPv6, which is mostly unassigned; of what is not for IPv4, which is mostly in use.
 */

/** First address and prefix length of each block that is not public. */
const notPublic4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  // Carriers' own (CGNAT).
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Link-local, and what clouds tell their machines of themselves.
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  // Multicast, reserved, broadcast.
  ['224.0.0.0', 3],
]

/** Inside 2000::/3, the only block of which addresses are given out. */
const notPublic6: readonly (readonly [string, number])[] = [
  // Teredo and other protocols' own.
  ['2001::', 23],
  ['2001:db8::', 32],
  // 6to4: an IPv4 address in other clothes.
  ['2002::', 16],
  ['3fff::', 20],
]

/** Whether a text is an address at all; a name is not. Without the brackets that a URL puts around IPv6. */
export function isAddress(text: string): boolean {
  return parse4(text) !== undefined || parse6(text) !== undefined
}

/** Of an address; `false` for everything else. */
export function isPublicAddress(text: string): boolean {
  const four = parse4(text)
  if (four !== undefined) return !notPublic4.some(([block, length]) => isWithin(four, parse4(block), length))
  const six = parse6(text)
  if (six === undefined || !isWithin(six, parse6('2000::'), 3)) return false
  return !notPublic6.some(([block, length]) => isWithin(six, parse6(block), length))
}

function isWithin(address: readonly number[], block: readonly number[] | undefined, length: number): boolean {
  if (block === undefined) throw new Error('a block that is no address')
  return block.every((byte, at) => {
    const bits = Math.min(8, Math.max(0, length - at * 8))
    const mask = (0xff << (8 - bits)) & 0xff
    return ((address[at] ?? 0) & mask) === (byte & mask)
  })
}

/** Dotted decimal without leading zeros: the other spellings are what a URL parser has turned into this one. */
function parse4(text: string): readonly number[] | undefined {
  if (!/^(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})$/.test(text)) return undefined
  const bytes = text.split('.').map(Number)
  return bytes.every((byte) => byte <= 255) ? bytes : undefined
}

/** RFC 4291, 2.2; a zone (`%eth0`) is none of it. */
function parse6(text: string): readonly number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = [toBytes(halves[0] ?? ''), toBytes(halves[1] ?? '')]
  if (head === undefined || tail === undefined) return undefined
  const missing = 16 - head.length - tail.length
  if (halves.length === 1 ? missing !== 0 : missing < 2) return undefined
  return [...head, ...Array.from({ length: missing }, () => 0), ...tail]
}

/** Groups of four hex digits; the last two may be written as an IPv4 address. */
function toBytes(text: string): readonly number[] | undefined {
  if (text === '') return []
  const groups = text.split(':')
  const last = groups.at(-1) ?? ''
  const four = last.includes('.') ? parse4(last) : undefined
  if (last.includes('.') && four === undefined) return undefined
  const plain = four === undefined ? groups : groups.slice(0, -1)
  if (!plain.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined
  return [
    ...plain.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]),
    ...(four ?? []),
  ]
}
