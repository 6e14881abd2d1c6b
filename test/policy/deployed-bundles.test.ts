/** `[build]` of wrangler.toml: what a deploy carries, and that each kind of mistake ends it, with its file and line. */
import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeSuite } from '../../src/crypto-node/index.ts'
import { openUnnamedPolicySet } from '../../src/policy/index.ts'
import { utf8 } from '../../src/record/index.ts'

const home = fileURLToPath(new URL('../..', import.meta.url))
const script = join('.ci', 'deployed-bundles.ts')

/** A bundle without a finding; each file on lines of its own, so that places can be told apart. */
const sound: Readonly<Record<string, string>> = {
  'tools.json': `{
  "shop": {
    "order": {
      "risk": "medium",
      "mutates_state": true,
      "args": {
        "amount": { "at": "/amount", "type": "integer", "required": true }
      }
    }
  }
}
`,
  'settings.json': `{
  "agent_burst": 50,
  "approver_groups": { "leads": { "quorum": 1 } },
  "default_group": "leads"
}
`,
  'shop.cedar': `// Permits small orders.
@id("small")
permit(principal, action == Action::"shop.order", resource)
when { context.args.amount < 100 };
`,
  'cases/orders.json': `[
  {
    "name": "a small order",
    "request": {
      "tool_call": { "tool": "shop", "action": "order", "mutates_state": true, "parameters": { "amount": 5 } },
      "context": { "source_trust": "semi_trusted_customer" }
    },
    "expect": { "decision": "allow" }
  }
]
`,
}

type Change = readonly [file: string, from: string, to: string]

/** One mistake a tenant, and what is said of it. */
const mistakes: Readonly<Record<string, { readonly change: Change; readonly says: string }>> = {
  'not-json': { change: ['settings.json', '50,', '50'], says: 'settings.json:3 error not_readable' },
  twice: {
    change: ['settings.json', '"agent_burst": 50,', '"agent_burst": 50,\n  "agent_burst": 60,'],
    says: 'settings.json:3 error not_readable',
  },
  'setting-unknown': {
    change: ['settings.json', '"agent_burst"', '"agent_brust"'],
    says: 'settings.json:2 error unknown_member',
  },
  'setting-bounds': {
    change: ['settings.json', '"agent_burst": 50', '"agent_burst": 0'],
    says: 'settings.json:2 error wrong_type',
  },
  'group-unknown': {
    change: ['settings.json', '"default_group": "leads"', '"default_group": "lead"'],
    says: 'settings.json:4 error unknown_group',
  },
  'quorum-zero': {
    change: ['settings.json', '"quorum": 1', '"quorum": 0'],
    says: 'settings.json:3 error wrong_type',
  },
  'tool-member': {
    change: ['tools.json', '"risk"', '"risc"'],
    says: 'tools.json:4 error unknown_member',
  },
  'tool-type': {
    change: ['tools.json', '"mutates_state": true', '"mutates_state": "yes"'],
    says: 'tools.json:5 error wrong_type',
  },
  pointer: {
    change: ['tools.json', '"/amount"', '"amount"'],
    says: 'tools.json:7 error bad_pointer',
  },
  argument: {
    change: ['shop.cedar', 'context.args.amount', 'context.args.amuont'],
    says: 'shop.cedar:4 error',
  },
  'argument-behind-has': {
    change: ['shop.cedar', 'context.args.amount < 100', 'context.trust > 4 || context.args has amuont'],
    says: 'shop.cedar:4 error unknown_argument [small]',
  },
  annotation: {
    change: ['shop.cedar', '@id("small")', '@id("small")\n@decsion("require_approval")'],
    says: 'shop.cedar:3 error unknown_annotation [small]',
  },
  'id-missing': { change: ['shop.cedar', '@id("small")\n', ''], says: 'shop.cedar:2 error missing_id' },
  syntax: { change: ['shop.cedar', '< 100 }', '< }'], says: 'shop.cedar:4 error not_parsed' },
  'type-error': {
    change: ['shop.cedar', 'amount < 100', 'amount < "100"'],
    // Of the policy as a whole: Cedar checks what was parsed, which knows no lines.
    says: 'shop.cedar:2 error cedar [small]',
  },
  'action-unknown': {
    change: ['shop.cedar', 'shop.order', 'shop.odrer'],
    says: 'shop.cedar:3 error',
  },
  template: {
    change: ['shop.cedar', 'permit(principal,', 'permit(principal == ?principal,'],
    says: 'shop.cedar:2 error template',
  },
  nesting: {
    change: ['shop.cedar', 'context.args.amount < 100', `${'('.repeat(150)}true${')'.repeat(150)}`],
    says: 'shop.cedar:2 error',
  },
  'approvers-unknown': {
    change: ['shop.cedar', '@id("small")', '@id("small")\n@decision("require_approval")\n@approvers("lead")'],
    says: 'shop.cedar:4 error unknown_group [small]',
  },
  'case-fails': {
    change: ['cases/orders.json', '"amount": 5', '"amount": 500'],
    says: 'cases/orders.json:3 error case_failed "a small order" decision: want allow, got deny',
  },
  'case-member': {
    change: ['cases/orders.json', '"expect"', '"expects"'],
    says: 'cases/orders.json:',
  },
  'tools-gone': { change: ['tools.json', '', ''], says: 'tools.json error missing_file' },
  stray: { change: ['notes.txt', '', 'x'], says: 'notes.txt error unknown_file' },
}

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aegis-deployed-'))
  await cp(join(home, 'policies', 'default'), join(folder, 'good', 'default'), { recursive: true })
  await write(join(folder, 'good', 'tenants', 'shop'), {})
  await cp(join(folder, 'good', 'default'), join(folder, 'bad', 'default'), { recursive: true })
  for (const [tenant, { change }] of Object.entries(mistakes)) {
    await write(join(folder, 'bad', 'tenants', tenant), changed(change))
  }
  await write(join(folder, 'bad', 'tenants', 'shop'), {})
  await write(join(folder, 'bad', 'tenants', 'Not_A_Tenant'), {})
})

afterAll(() => rm(folder, { recursive: true, force: true }))

function changed([file, from, to]: Change): Readonly<Record<string, string | undefined>> {
  const text = sound[file]
  if (text === undefined) return { [file]: to }
  if (from === '') return { [file]: undefined }
  if (!text.includes(from)) throw new Error(`${file} does not hold ${from}`)
  return { [file]: text.replace(from, to) }
}

async function write(at: string, over: Readonly<Record<string, string | undefined>>): Promise<void> {
  for (const [file, text] of Object.entries({ ...sound, ...over })) {
    if (text === undefined) continue
    await mkdir(dirname(join(at, file)), { recursive: true })
    await writeFile(join(at, file), text)
  }
}

function run(args: readonly string[]): Promise<{ readonly code: number | null; readonly stderr: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: home,
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false', NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stderr = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')))
    }
    child.once('close', (code) => {
      resolve({ code, stderr })
    })
  })
}

const build = (policies: string, out: string) =>
  run(['--import', 'tsx', script, join(folder, policies), join(folder, out)])

describe('bundles without a finding', () => {
  it('are carried: the default for every tenant, a folder for its own', async () => {
    expect(await build('good', 'good.json')).toMatchObject({ code: 0 })
    const carried = JSON.parse(await readFile(join(folder, 'good.json'), 'utf8')) as {
      readonly default: Carried
      readonly tenants: Readonly<Record<string, Carried>>
    }
    expect(Object.keys(carried.tenants)).toEqual(['shop'])
    for (const one of [carried.default, ...Object.values(carried.tenants)]) {
      const opened = openUnnamedPolicySet(utf8(one.object), nodeSuite)
      expect(opened.ok && opened.policySet.policySetHash).toBe(one.policy_set_hash)
    }
  })
})

interface Carried {
  readonly policy_set_hash: string
  readonly object: string
}

describe('a mistake', () => {
  let said: readonly string[]
  let ended: number | null
  beforeAll(async () => {
    await writeFile(join(folder, 'bad.json'), 'of the deploy before')
    const { code, stderr } = await build('bad', 'bad.json')
    ended = code
    said = stderr.split('\n')
  })

  it.each(Object.entries(mistakes))('%s is said with its file and line', (tenant, { says }) => {
    const about = said.filter((line) => line.includes(`/tenants/${tenant}/`))
    expect(about.map((line) => line.replace(/^.*\/tenants\/[^/]+\//, ''))).toContainEqual(
      expect.stringContaining(says),
    )
  })

  it('of one tenant is none of another', () => {
    expect(said.some((line) => line.includes('/tenants/shop/'))).toBe(false)
  })

  it('in the name of a folder is one too', () => {
    expect(said).toContainEqual(expect.stringContaining('tenants/Not_A_Tenant error tenant_name'))
  })

  it('leaves what was built before, and says that nothing is deployed', async () => {
    expect(ended).toBe(1)
    expect(await readFile(join(folder, 'bad.json'), 'utf8')).toBe('of the deploy before')
    expect(said).toContainEqual(expect.stringMatching(/^policies: \d+ errors; nothing is deployed$/))
  })
})

describe('wrangler', () => {
  it('runs it before each deploy, and ends with its error', async () => {
    const toml = await readFile(join(home, 'wrangler.toml'), 'utf8')
    const command = /^\[build\]\ncommand = "(.*)"$/m.exec(toml)?.[1]
    expect(command).toBe(`node --import tsx ${script}`)
    await writeFile(join(folder, 'worker.js'), 'export default { fetch() { return new Response() } }')
    const config = (policies: string) => `name = "x"
main = "worker.js"
compatibility_date = "2026-04-01"
[build]
command = ${JSON.stringify(`${command ?? ''} ${join(folder, policies)} ${join(folder, 'deploy.json')}`)}
cwd = ${JSON.stringify(home)}
`
    const wrangler = join(home, 'node_modules', 'wrangler', 'bin', 'wrangler.js')
    const codes: unknown[] = []
    for (const policies of ['good', 'bad']) {
      await writeFile(join(folder, `${policies}.toml`), config(policies))
      const out = join(folder, 'out')
      const deploy = ['deploy', '--dry-run', '--outdir', out, '-c', join(folder, `${policies}.toml`)]
      codes.push((await run([wrangler, ...deploy])).code)
    }
    expect(codes).toEqual([0, 1])
  })
})
