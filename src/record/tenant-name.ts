/** What a tenant may be called (SPEC.md §3.6): a name without slash and dot, so that it can stand in a path of the archive. */
const tenantName = /^[a-z][a-z0-9-]{1,38}$/

export function isTenantName(text: string): boolean {
  return tenantName.test(text)
}
