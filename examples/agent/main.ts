/**
 * A small agent, scripted instead of led by a model, that works on files and fetches pages, with every tool behind
 * `protect`. Run it beside `npm run dev`, which prints the three variables:
 *
 *     AEGIS_URL=… AEGIS_API_KEY=aegis_agent_dev_… AEGIS_PUBLIC_KEY=… npx tsx examples/agent/main.ts
 *
 * Writing needs a person: the agent says what to approve, and waits. Outside this checkout the import is `aegis-edge/sdk`.
 */
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Aegis, AegisApprovalError, AegisDenied, AegisError } from '../../src/sdk/index.ts'
import { startPages } from './pages.ts'

const { AEGIS_URL: url, AEGIS_API_KEY: key, AEGIS_PUBLIC_KEY: publicKey } = process.env
if (url === undefined || key === undefined || publicKey === undefined) {
  throw new Error('set AEGIS_URL, AEGIS_API_KEY and AEGIS_PUBLIC_KEY to what `npm run dev` prints')
}
const say = (text: string) => process.stdout.write(`${text}\n`)

const aegis = new Aegis({
  url,
  key,
  verify: { keys: [publicKey] },
  // What led to these calls came from a customer: no more trust than that, and no secrets are at hand.
  context: { sourceTrust: 'semi_trusted_customer', containsSensitiveData: false },
  fetch: async (input, init) => {
    if (String(input).endsWith('/consume')) await trySwap(String(input), init?.headers)
    return fetch(input, init)
  },
})

const folder = await mkdtemp(join(tmpdir(), 'aegis-agent-'))
const pages = await startPages()

// The tools. What each of them gets is the frozen copy that was authorized, and nothing else.
const files = { tool: 'files' } as const
const listFiles = aegis.protect(async ({ path }: { path: string }) => readdir(path), {
  ...files,
  action: 'list',
  mutates: false,
})
const readText = aegis.protect(async ({ path }: { path: string }) => readFile(path, 'utf8'), {
  ...files,
  action: 'read',
  mutates: false,
})
const writeText = aegis.protect(
  async ({ path, text }: { path: string; text: string }) => writeFile(path, text),
  {
    ...files,
    action: 'write',
    onApproval: ({ approval }) => {
      say(`   a person of ${approval.groups.join(' or ')} must approve it. In another terminal:`)
      say(`     npx aegis approvals show ${approval.approvalId}`)
      say(`     npx aegis approvals approve ${approval.approvalId} --binding ${approval.bindingHash}`)
    },
  },
)
const fetchPage = aegis.protect(async ({ url: page }: { url: string }) => pages.fetch(page), {
  tool: 'web',
  action: 'fetch',
  mutates: false,
})

try {
  await writeFile(join(folder, 'notes.md'), 'The pump in hall 2 leaks.\n')
  const notes = await attempt('list the folder', () => listFiles({ path: folder }))
  say(`   ${String(notes)}`)
  const text = await attempt('read the notes', () => readText({ path: join(folder, 'notes.md') }))
  await attempt('read a key file', () => readText({ path: join(folder, '.ssh', 'id_ed25519') }))
  await attempt('fetch a page of the manufacturer', () => fetchPage({ url: 'https://pumps.example.com/p7' }))
  await attempt('fetch what the cloud tells about this machine', () =>
    fetchPage({ url: 'http://169.254.169.254/latest/meta-data' }),
  )
  const report = { path: join(folder, 'report.md'), text: `Report: ${text ?? ''}` }
  const written = attempt('write a report', () => writeText(report))
  // Too late: what is approved, and what will run, was copied in the moment of the call.
  report.path = join(folder, 'something-else.md')
  report.text = 'Swapped while a person was looking.'
  await written
  say('')
  say(`In the folder now: ${(await readdir(folder)).sort().join(', ')}`)
  say(await readFile(join(folder, 'report.md'), 'utf8').catch(() => 'There is no report.'))
} finally {
  await pages.stop()
  await rm(folder, { recursive: true, force: true })
}

/** What an attacker inside this process would try: the approval that was just given, for another action. */
async function trySwap(consume: string, headers: RequestInit['headers']): Promise<void> {
  const other = { tool: 'files', action: 'write', parameters: { path: '/etc/passwd', text: 'mallory' } }
  const asked = await aegis.authorize(other)
  const { approval_id: approvalId, binding_hash: binding } = await state(consume, headers)
  const body = { request_id: `swap-${approvalId}`, action_hash: asked.actionHash, binding_hash: binding }
  const response = await fetch(consume, {
    method: 'POST',
    headers: headers ?? {},
    body: JSON.stringify(body),
  })
  const { code } = (await response.json()) as { readonly code: string }
  say(`   the approval, tried for another action: ${String(response.status)} ${code}`)
}

async function state(consume: string, headers: RequestInit['headers']) {
  const response = await fetch(consume.replace(/\/consume$/, ''), { headers: headers ?? {} })
  return (await response.json()) as { readonly approval_id: string; readonly binding_hash: string }
}

/** Runs a tool, or says why it did not run. */
async function attempt<T>(what: string, run: () => Promise<T>): Promise<T | undefined> {
  try {
    const result = await run()
    say(`${what}: done`)
    return result
  } catch (error) {
    if (error instanceof AegisDenied) say(`${what}: denied, ${error.reason.code}; nothing ran`)
    else if (error instanceof AegisApprovalError) say(`${what}: ${error.code}; nothing ran`)
    else if (error instanceof AegisError) say(`${what}: no decision, ${error.message}; nothing ran`)
    else throw error
    return undefined
  }
}
