/** Recorded requests decided again: what we record always passes the guard, and an Envelope gives the same decision. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type AgentRecord,
  createEngine,
  decide,
  redecide,
  redecideFromEnvelope,
  trustLevels,
} from '../../src/policy/index.ts'
import { type JsonObject, nobleSuite, utf8 } from '../../src/record/index.ts'
import { check } from '../harness/properties.ts'
import { type Asked, bundleOf, inputOf } from './claims/build.ts'
import { cedarModule } from './node-means.ts'

const engine = createEngine({ module: cedarModule })
const means = { engine, digester: nobleSuite }
const bundle = bundleOf(
  engine,
  `@id("reads") permit (principal, action in Action::"reading", resource);
   @id("orders") permit (principal in Role::"buyer", action, resource) when { context.trust >= 3 };
   @id("sensitive") forbid (principal, action, resource) when { context.contains_sensitive_data && context.trust < 5 };
   @id("night") forbid (principal, action, resource) when { context.now < datetime("2000-01-01") };`,
)

describe('a recorded request', () => {
  it('passes the guard at the limits of bindings', () => {
    const agent: Partial<AgentRecord> = {
      id: 'a'.repeat(128),
      roles: Array.from({ length: 256 }, (_, at) => `role-${String(at)}`),
      owner: 'é'.repeat(1_024),
    }
    const parameters: readonly JsonObject[] = [
      { text: 'x'.repeat(2_048) },
      { text: '☕'.repeat(682) },
      { tags: Array.from({ length: 256 }, (_, at) => `${'t'.repeat(40)}${String(at)}`) },
    ]
    for (const given of parameters) {
      const { axes, code } = decide(inputOf(bundle, { parameters: given, agent }), means)
      expect(code).not.toBe('binding_failed')
      expect(redecide(axes, 'shop.order', bundle.policySet, means).kind).toBe('evaluated')
    }
    const over = [
      { text: 'x'.repeat(2_049) },
      { tags: { set: Array.from({ length: 257 }, (_, at) => String(at)) } },
    ]
    const { axes } = decide(inputOf(bundle, {}), means)
    for (const args of over) {
      const hostile = { ...axes, context: { ...axes.context, args } }
      expect(redecide(hostile, 'shop.order', bundle.policySet, means).kind).toBe('no_binding')
    }
  })

  const asked: fc.Arbitrary<Asked> = fc.record({
    action: fc.constantFrom('order', 'browse', 'wipe', 'send', 'read_file', 'gone'),
    parameters: fc
      .dictionary(
        fc.constantFrom('amount', 'text', 'card', 'to', 'path', 'tags'),
        fc.oneof(fc.constantFrom('a', '/b'), fc.integer({ min: 0, max: 9 })),
        { noNullPrototype: true },
      )
      .map((parameters): JsonObject => parameters),
    resource: fc.constantFrom(null, 'shop:a'),
    mutates: fc.boolean(),
    trust: fc.constantFrom(...trustLevels),
    sensitive: fc.constantFrom(undefined, true, false),
    agent: fc.record({
      roles: fc.constantFrom([], ['buyer'], ['buyer', 'x']),
      trustMax: fc.constantFrom(...trustLevels),
      forceApproval: fc.boolean(),
    }),
    nowMs: fc.integer({ min: 0, max: 4_102_444_800_000 }),
  }) as fc.Arbitrary<Asked>

  it('is decided the same from its Envelope, whatever was recorded of it', () => {
    check(
      fc.property(asked, (given) => {
        const input = inputOf(bundle, given)
        const evaluation = decide(input, means)
        const { containsSensitiveData: sensitive, sourceTrust, toolCall } = input.request
        const envelope = utf8(
          JSON.stringify({
            request_id: 'r',
            tool_call: toolCall,
            action_hash: 'x',
            context: {
              source_trust: sourceTrust,
              ...(sensitive === undefined ? {} : { contains_sensitive_data: sensitive }),
            },
          }),
        )
        const recorded = { axes: evaluation.axes, toolId: evaluation.toolId, decidedAt: input.nowMs }
        const again = redecideFromEnvelope(recorded, envelope, bundle.policySet, means)
        expect(again).toEqual({
          kind: 'evaluated',
          evaluation: { ...evaluation, axes: expect.anything() as unknown },
        })
      }),
      { numRuns: 400 },
    )
  })

  it('is none where the Envelope is of another tool, or has no clock', () => {
    const { axes, toolId } = decide(inputOf(bundle, {}), means)
    const body = (action: string): Uint8Array =>
      utf8(
        JSON.stringify({
          tool_call: { tool: 'shop', action, resource: null, mutates_state: false, parameters: {} },
          context: { source_trust: 'unknown' },
        }),
      )
    const decideIt = (over: object, bytes: Uint8Array): string =>
      redecideFromEnvelope({ axes: { ...axes, ...over }, toolId }, bytes, bundle.policySet, means).kind
    expect(decideIt({}, body('order'))).toBe('evaluated')
    expect(decideIt({}, body('browse'))).toBe('no_binding')
    expect(decideIt({ context: undefined }, body('order'))).toBe('no_binding')
    expect(decideIt({ context: { ...axes.context, now: { datetime: 'noon' } } }, body('order'))).toBe(
      'no_binding',
    )
    expect(decideIt({ principal: undefined }, body('order'))).toBe('no_binding')
  })
})
