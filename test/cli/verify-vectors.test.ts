/** Chains of test/vectors/7/chains through the command: exit code and stdout are API. */
import { describe, expect, it } from 'vitest'
import { type ChainInput, type ChainVector, inputBytes, readCases } from '../harness/vector-files.ts'
import { buildCommand } from './command.ts'

const aegis = buildCommand()

/** A process costs a tenth of a second: two Chains for each first line of a report and each set of flags. */
function sample(all: readonly (ChainVector & { readonly name: string })[]): typeof all {
  const seen = new Map<string, number>()
  return all.filter(({ expect: expected, options }) => {
    const verdict = expected.text.replace(/ (at|\(pinned to) .*/su, '')
    const kind = `${verdict.split('\n')[0] ?? ''} ${Object.keys(options ?? {}).join(' ')}`
    seen.set(kind, (seen.get(kind) ?? 0) + 1)
    return (seen.get(kind) ?? 0) <= 2
  })
}

const vectors = sample(readCases<ChainVector>('7/chains')).map((vector, at) => ({ ...vector, at }))

describe('aegis verify', () => {
  // Forms of a report and numbers of threads take turns; test/verify judges every Chain in both forms.
  it.concurrent.each(vectors)('$name', async ({ name, files, options, expect: expected, at }) => {
    const args = ['verify', '--threads', at % 3 === 0 ? '2' : '1']
    const json = at % 2 === 0
    if (json) args.push('--json')
    for (const key of options?.keys ?? []) args.push('--key', key)
    if (options?.trust_store !== undefined) {
      args.push('--trust-store', aegis.file(`${name}.trust.json`, options.trust_store))
    }
    if (options?.head !== undefined) args.push('--head', options.head)
    for (const [number, file] of files.entries()) {
      args.push(aegis.file(`${name}.${String(number)}.aarl`, inputBytes(file)))
    }
    const { code, stdout, stderr } = await aegis.run(args)
    expect({ code, stdout }).toEqual({ code: expected.exit, stdout: json ? expected.json : expected.text })
    expect(stderr).toMatch(/^(--trust-store: \S+ holds no key\n)?$/)
  })
})

interface HeadVector {
  readonly files: readonly ChainInput[]
  readonly head: string
  readonly options?: ChainVector['options']
  readonly expect: ChainVector['expect']
}

describe('aegis verify --head FILE', () => {
  it.concurrent.each(readCases<HeadVector>('7/heads'))(
    '$name',
    async ({ name, files, head, options, expect: expected }) => {
      const args = ['verify', '--head', aegis.file(`${name}.head`, head)]
      for (const key of options?.keys ?? []) args.push('--key', key)
      if (options?.trust_store !== undefined) {
        args.push('--trust-store', aegis.file(`${name}.trust.json`, options.trust_store))
      }
      for (const [at, file] of files.entries()) {
        args.push(aegis.file(`${name}.head-file-${String(at)}`, inputBytes(file)))
      }
      const { code, stdout, stderr } = await aegis.run(args)
      expect({ code, stdout }).toEqual({ code: expected.exit, stdout: expected.text })
      expect(stderr).toMatch(expected.text === '' ? /^error: --head: [^\n]+\n$/ : /^$/)
    },
  )
})
