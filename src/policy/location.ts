/**
 * The two arguments that the Chain records in the open: a file path and a URL (policy.md §2). Cleaning is lexical:
 * it does not know links or mounts, and refuses what two readers could understand apart. Which paths and hosts are
 * allowed is for policies.
 */

export interface CleanPath {
  readonly path_raw: string
  readonly path_canonical: string
}

/**
 * An absolute POSIX path without `.`, `..` and doubled slashes; a trailing slash goes too, so that a directory has
 * one spelling.
 *
 * @returns undefined for a relative path and for one with NUL, `\` or `%`.
 */
export function cleanPath(raw: string): CleanPath | undefined {
  if (!raw.startsWith('/') || /[\0\\%]/.test(raw)) return undefined
  const kept: string[] = []
  for (const part of raw.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..') kept.pop()
    else kept.push(part)
  }
  return { path_raw: raw, path_canonical: `/${kept.join('/')}` }
}

export interface Address {
  readonly scheme: 'http' | 'https'
  /** As the WHATWG parser gives it: lowercase, punycode, IPv6 in brackets. */
  readonly host: string
  readonly port: number
}

/** Where a WHATWG URL leads: http and https, no user information. The path and the query stay out of the Chain. */
export function parseAddress(raw: string): Address | undefined {
  let url: URL
  try {
    url = new URL(raw)
  } catch {
    return undefined
  }
  const scheme = url.protocol === 'https:' ? 'https' : url.protocol === 'http:' ? 'http' : undefined
  if (scheme === undefined || url.username !== '' || url.password !== '' || url.hostname === '')
    return undefined
  // The parser drops an empty `user@`; a reader that does not would see another host.
  if (/^[^/?#]*:[\\/]*[^/?#\\]*@/.test(raw)) return undefined
  const port = url.port === '' ? (scheme === 'https' ? 443 : 80) : Number(url.port)
  return { scheme, host: url.hostname, port }
}
