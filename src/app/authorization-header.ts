/** The `Authorization` header (authorize.md §1): one Bearer key, or why not. Not for what the key is worth. */

export type AuthorizationHeader =
  | { readonly kind: 'bearer'; readonly key: string }
  | { readonly kind: 'absent' }
  /** Two credentials in one header, or a form in which two readers could see two keys. */
  | { readonly kind: 'malformed' }

/** A comma is what a second header of that name becomes; a second space is no part of a key. */
export function readAuthorization(value: string | null): AuthorizationHeader {
  if (value === null || value === '') return { kind: 'absent' }
  const spaceAt = value.search(/[ \t]/)
  if (value.includes(',') || (spaceAt >= 0 && /[ \t]/.test(value.slice(spaceAt + 1))))
    return { kind: 'malformed' }
  const match = /^bearer (\S+)$/i.exec(value)
  return match?.[1] === undefined ? { kind: 'absent' } : { kind: 'bearer', key: match[1] }
}
