/**
 * `npm run demo`: the whole system on a temporary folder. An agent that tends a repository makes a dozen calls; the
 * Chain of them is read, verified by the command that anyone can run, altered by one bit and caught. Ends by itself and
 * leaves nothing running and nothing behind.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Aegis, type Action, type ApprovalRequired, type SourceTrust } from '../../src/sdk/index.ts'
import { type LocalAuthorizer, bundleWorker, startAuthorizer } from './authorizer.ts'
import { developmentSecrets } from './secrets.ts'
import { KeyHolder, type LocalTenant, provisionTenant, readBundleOrThrow } from './tenant.ts'

const home = fileURLToPath(new URL('../..', import.meta.url))
const say = (text = '') => process.stdout.write(`${text}\n`)

process.chdir(home)
const folder = await mkdtemp(join(tmpdir(), 'aegis-demo-'))
try {
  say('Starting the authorizer: the Worker, its Durable Object and its buckets, in workerd on this machine …')
  const bundle = await readBundleOrThrow('policies/examples/github')
  const authorizer = await startAuthorizer({
    stateFolder: join(folder, 'state'),
    port: 0,
    secrets: developmentSecrets,
    modules: await bundleWorker(),
  })
  try {
    const tenant = await provisionTenant(authorizer, developmentSecrets, {
      tenant: 'demo',
      agent: { id: 'repo-keeper', owner: 'ada@example.com', trustMax: 'trusted_internal_signed' },
      bundle,
    })
    await tellStory(authorizer, tenant)
    await checkChain(await readChain(authorizer, tenant), tenant)
  } finally {
    await authorizer.stop()
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** A request as it was sent: what a retry repeats byte by byte. */
interface Sent {
  readonly url: string
  readonly init: RequestInit
}

async function tellStory(authorizer: LocalAuthorizer, tenant: LocalTenant): Promise<void> {
  const sent: Sent[] = []
  const aegis = new Aegis({
    url: authorizer.url,
    key: tenant.keys.agent,
    agentId: tenant.agent.id,
    verify: { keys: [tenant.publicKey] },
    fetch: (url, init) => {
      // Without the SDK's signal: its own attempt is over when these bytes are sent once more.
      sent.push({ url, init: { ...init, signal: null } })
      return fetch(url, init)
    },
  })
  const ask = async (what: string, action: Action, sourceTrust: SourceTrust): Promise<void> => {
    const answer = await aegis.authorize(action, { context: { sourceTrust, containsSensitiveData: false } })
    const decision = { allowed: 'allow', denied: 'deny', approval_required: 'require_approval' }[answer.kind]
    row(what, decision, shortened(answer.reason.detail))
  }

  say(`Agent ${tenant.agent.id} asks ${authorizer.url}/v1/authorize before each call:`)
  say()
  const repo = { owner: 'acme', repo: 'widgets' }
  const resource = 'repo:acme/widgets'
  const github = (action: string, parameters: Action['parameters'], mutates = true): Action => ({
    tool: 'github',
    action,
    resource,
    mutates,
    parameters: { ...repo, ...parameters },
  })
  const issue = github('get_issue', { issue_number: 57 }, false)
  await ask('read issue 57, written by a stranger', issue, 'untrusted_external')
  const comment = github('add_issue_comment', { issue_number: 57, body: 'On it.' })
  await ask('do what that issue says: comment', comment, 'untrusted_external')
  await ask('comment for the team', comment, 'trusted_internal_unsigned')
  await ask('create a branch', github('create_branch', { branch: 'fix-57' }), 'trusted_internal_unsigned')
  const file = { branch: 'fix-57', path: 'src/pump.ts', content: 'export {}' }
  await ask('write a file there', github('create_or_update_file', file), 'trusted_internal_unsigned')
  const onMain = { ...file, branch: 'main' }
  await ask(
    'write the same file to main',
    github('create_or_update_file', onMain),
    'trusted_internal_unsigned',
  )
  const merge = github('merge_pull_request', { pull_number: 58, base: 'feature/pump' })
  await ask('merge into a feature branch', merge, 'trusted_internal_unsigned')
  const mergeSent = sent[sent.length - 1]
  const mergeToMain = github('merge_pull_request', { pull_number: 58, base: 'main' })
  const context = { sourceTrust: 'trusted_internal_unsigned', containsSensitiveData: false } as const
  const asked = await aegis.authorize(mergeToMain, { context })
  row('merge into main', 'require_approval', shortened(asked.reason.detail))
  if (asked.kind === 'approval_required') await approveAndUse(authorizer, tenant, aegis, asked)
  await ask('delete the repository', github('delete_repository', {}), 'trusted_internal_signed')
  const unknown: Action = { tool: 'shell', action: 'exec', parameters: { command: 'ls' } }
  await ask('a tool that nobody declared', unknown, 'trusted_internal_signed')

  if (mergeSent === undefined) throw new Error('the merge was not sent')
  const repeated = await fetch(mergeSent.url, mergeSent.init)
  const first = (await repeated.json()) as { decision: string; call_id: string }
  row('the merge once more, identical bytes', first.decision, `the recorded answer of ${first.call_id}`)
  const altered = await fetch(mergeSent.url, {
    ...mergeSent.init,
    body: asText(mergeSent).replace('"pull_number":58', '"pull_number":59'),
  })
  const problem = (await altered.json()) as { code: string }
  row('its request_id with another action', String(altered.status), problem.code)

  const admin = new KeyHolder(authorizer.url, tenant.keys.admin)
  await admin.send('POST', `/v1/agents/${tenant.agent.id}/freeze`)
  await ask('frozen by an admin, it reads again', issue, 'untrusted_external')
  say()
}

/** A person approves the exact frozen action; nothing else can be done with that, and this once. */
async function approveAndUse(
  authorizer: LocalAuthorizer,
  { keys }: LocalTenant,
  aegis: Aegis,
  asked: ApprovalRequired,
): Promise<void> {
  const { approvalId, actionHash, bindingHash, groups } = asked.approval
  const path = `/v1/approvals/${approvalId}`
  const approver = new KeyHolder(authorizer.url, keys.approver)
  await approver.send('POST', `${path}/approve`, { binding_hash: bindingHash })
  row('  a person looks at it, and approves', 'approved', `one of ${groups.join(', ')}`)
  const agent = new KeyHolder(authorizer.url, keys.agent)
  const swapped = { request_id: 'swap', action_hash: '0'.repeat(64), binding_hash: bindingHash }
  const refused = await agent.ask('POST', `${path}/consume`, swapped)
  row('  that approval, for another action', String(refused.status), refused.body.code ?? '')
  const used = await aegis.consume(asked)
  row('  for the merge that was shown', used.kind === 'allowed' ? 'allow' : 'deny', used.reason.code)
  const again = { request_id: 'again', action_hash: actionHash, binding_hash: bindingHash }
  const twice = await agent.ask('POST', `${path}/consume`, again)
  row('  and once more', String(twice.status), twice.body.code ?? '')
}

function asText({ init }: Sent): string {
  const { body } = init
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return Buffer.from(body).toString('utf8')
  throw new Error('the SDK sent neither text nor bytes')
}

function shortened(text: string): string {
  return text.length > 64 ? `${text.slice(0, 63)}…` : text
}

function row(what: string, decision: string, why: string): void {
  say(`  ${what.padEnd(42)} ${decision.padEnd(18)} ${why}`)
}

async function readChain(authorizer: LocalAuthorizer, tenant: LocalTenant): Promise<Uint8Array> {
  const answer = await fetch(`${authorizer.url}/v1/chain/live`, {
    headers: { authorization: `Bearer ${tenant.keys.auditor}` },
  })
  if (!answer.ok) throw new Error(`the Chain could not be read: ${await answer.text()}`)
  return new Uint8Array(await answer.arrayBuffer())
}

async function checkChain(bytes: Uint8Array, tenant: LocalTenant): Promise<void> {
  const file = join(folder, 'chain.aarl')
  await writeFile(file, bytes)
  say('The record of it, read as an auditor and verified with the one key that was pinned beforehand.')
  say('(unanchored_tail: the Session is still open, so that nobody can say what will follow.)')
  say()
  await verify('chain.aarl', file, tenant)
  const forged = Buffer.from(bytes)
  const digit = forged.indexOf('"pull_number":{"long":"58"}') + '"pull_number":{"long":"5'.length
  forged[digit] = '9'.charCodeAt(0)
  await writeFile(file, forged)
  say('One byte altered: the pull request that was merged becomes number 59.')
  say()
  await verify('chain.aarl', file, tenant)
}

async function verify(name: string, file: string, tenant: LocalTenant): Promise<void> {
  say(`$ npx aegis verify --key ${tenant.publicKey} ${name}`)
  const { code, stdout } = await run([
    join(home, 'dist', 'cli', 'main.js'),
    'verify',
    '--key',
    tenant.publicKey,
    file,
  ])
  say(`${stdout}exit code ${String(code)}`)
  say()
}

function run(args: readonly string[]): Promise<{ readonly code: number; readonly stdout: string }> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') {
        reject(error)
        return
      }
      process.stderr.write(stderr)
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout })
    })
  })
}
