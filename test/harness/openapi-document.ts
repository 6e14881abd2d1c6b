/** The part of an OpenAPI document that tests look at. */
export interface OpenApi {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

export interface Content {
  readonly schema?: { readonly $ref?: string }
}

export interface Operation {
  /** Says the roles; absent where no key is needed. */
  readonly description?: string
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, Content>> }>
  >
}
