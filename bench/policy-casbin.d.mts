export interface CasbinEnforcer {
  enforceSync(...request: unknown[]): boolean
}
export function newModelFromString(text: string): object
export class StringAdapter {
  constructor(policy: string)
}
export function newEnforcer(model: object, adapter: StringAdapter): Promise<CasbinEnforcer>
