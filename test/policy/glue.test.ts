/** Our glue against the package's: the same answers, over every call that we make (docs/decisions/0006). */
import * as theirs from '@cedar-policy/cedar-wasm/web'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { createEngine } from '../../src/policy/index.ts'
import { guardPolicyText } from '../../src/policy/guard.ts'
import { instantiateCedar } from '../../src/policy/glue.ts'
import { splitPolicies } from '../../src/policy/scan.ts'
import { schemaJson } from '../../src/policy/schema.ts'
import { bundleOf } from './claims/build.ts'
import { cedarModule } from './node-means.ts'

const ours = instantiateCedar(cedarModule)
beforeAll(() => {
  theirs.initSync({ module: cedarModule as never })
})

const texts = [
  'permit(principal, action, resource);',
  '@id("é𝄞") forbid(principal in Role::"r", action in [Action::"a", Action::"b"], resource is Resource) when { context.a like "x*\\*" && ip("1.2.3.4").isLoopback() } unless { context has b.c };',
  'permit(principal, action, resource',
  'permit(principal == ?principal, action, resource);',
  '',
  'permit(principal, action, resource) when { 9223372036854775807 == -9223372036854775808 };',
  `permit(principal, action, resource) when { context.a == "${'é'.repeat(20_000)}" };`,
]

describe('glue of our own', { timeout: 60_000 }, () => {
  it('names the same version', () => {
    expect(ours.version()).toBe(theirs.getCedarVersion())
  })
  it.each(texts)('parses alike: %.60s', (text) => {
    const json = ours.policyToJson(text)
    expect(json).toEqual(theirs.policyToJson(text))
    const policy = json.type === 'success' ? json.json : text
    expect(ours.policyToText(policy as never)).toEqual(theirs.policyToText(policy))
  })
  it('validates and writes schemas alike', () => {
    const { policySet } = bundleOf(
      createEngine({ module: cedarModule }),
      texts[0] === undefined ? '' : `@id("p") ${texts[0]}`,
    )
    const schema = schemaJson(policySet.catalogue)
    expect(ours.schemaToText(schema)).toEqual(theirs.schemaToText(schema))
    for (const text of texts) {
      const call = {
        schema,
        policies: { staticPolicies: text },
        validationSettings: { mode: 'strict' },
      } as const
      expect(ours.validate(call)).toEqual(theirs.validate(call))
    }
  })
  it('evaluates alike, unknown sets and bad input included', () => {
    const policies = { staticPolicies: { é: 'permit(principal, action, resource) when { context.a > 1 };' } }
    expect(ours.preparsePolicySet('sét', policies)).toEqual(theirs.preparsePolicySet('sét', policies))
    const uid = { type: 'A', id: '𝄞' }
    const base = {
      principal: uid,
      action: { type: 'Action', id: 'x' },
      resource: uid,
      entities: [],
      validateRequest: false,
    }
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.constantFrom('sét', 'none'),
        (context, set) => {
          const call = { ...base, context: context as never, preparsedPolicySetId: set }
          const answer = (run: (call: never) => unknown): unknown => {
            try {
              return run(call as never)
            } catch (thrown) {
              return String(thrown)
            }
          }
          expect(answer(ours.statefulIsAuthorized)).toEqual(answer(theirs.statefulIsAuthorized))
        },
      ),
      { numRuns: 300 },
    )
    expect(() =>
      ours.statefulIsAuthorized({ ...base, context: { a: '\ud800' }, preparsedPolicySetId: 'sét' }),
    ).toThrow(Error)
    expect(
      ours.statefulIsAuthorized({ ...base, context: { a: 2 }, preparsedPolicySetId: 'sét' }),
    ).toMatchObject({
      response: { decision: 'allow' },
    })
  })
  it('refuses a module of another kind', () => {
    expect(() => instantiateCedar({})).toThrow(TypeError)
  })
})

describe('the guard of texts', { timeout: 60_000 }, () => {
  /** Expressions with brackets and chains in every position, much deeper than anyone writes. */
  const expression = fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 30, depthSize: 'max', withCrossShrink: true },
      fc.constantFrom('1', 'true', 'context.a', '"x"'),
      fc
        .tuple(
          tie('node'),
          fc.nat(12),
          fc.constantFrom('+ 1', '&& true', '|| false', '.a', '.contains(1)', '["b"]', '* 2'),
        )
        .map(([inner, n, link]) => `(${inner} ${`${link} `.repeat(n)})`),
      fc.tuple(tie('node'), fc.nat(6)).map(([inner, n]) => `[${'1, '.repeat(n)}${inner}]`),
      fc.tuple(tie('node'), tie('node')).map(([left, right]) => `{a: ${left}, b: ${right}}`),
      fc.tuple(tie('node'), tie('node')).map(([left, right]) => `if ${left} then ${right} else true`),
      tie('node').map((inner) => `!(${inner})`),
      tie('node').map((inner) => `ip(${inner})`),
    ),
  })).node
  it('lets nothing through that traps', () => {
    const engine = createEngine({ module: cedarModule })
    let passed = 0
    let refused = 0
    fc.assert(
      fc.property(expression, (condition) => {
        const [piece] = splitPolicies(`permit(principal, action, resource) when { ${condition} };`)
        if (piece === undefined) throw new Error('a policy is a piece')
        if (guardPolicyText(piece) !== undefined) {
          refused += 1
          return
        }
        passed += 1
        engine.call((cedar) => cedar.policyToJson(piece.text))
        expect(engine.state().rebuilt).toBe(0)
      }),
      { numRuns: 400 },
    )
    expect(passed).toBeGreaterThan(50)
    expect(refused).toBeGreaterThan(10)
  })
  it('splits at semicolons that end a policy and at no others', () => {
    const text =
      '// a; b\n@id("x;y") permit(principal, action, resource) when { "a;\\"b" == "c" }; // ;\n\n@id("z")\nforbid(principal, action, resource);\n// end'
    expect(splitPolicies(text).map(({ line }) => line)).toEqual([2, 4])
  })
  it('is linear: a megabyte of brackets takes no time', () => {
    const started = performance.now()
    for (const char of ['(', '[', '{', '!', '.a', '"', ';', '(;', '-', 'if ']) {
      splitPolicies(char.repeat(100_000))
    }
    expect(performance.now() - started).toBeLessThan(4_000)
  })
})
