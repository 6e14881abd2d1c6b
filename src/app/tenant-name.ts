/** What a tenant may be called (SPEC.md §3.6): checked before a name reaches an object or a path in the archive. */
export const tenantName = /^[a-z][a-z0-9-]{1,38}$/
