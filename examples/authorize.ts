/**
 * An agent that asks before it acts, against `npm run dev` in another terminal:
 *
 *     AEGIS_URL=http://127.0.0.1:8787 AEGIS_API_KEY=aegis_agent_dev_… AEGIS_PUBLIC_KEY=… npx tsx examples/authorize.ts
 *
 * `npm run dev` prints all three. Outside this checkout the import is `aegis-edge/sdk`.
 */
import { type Action, Aegis, AegisError, verifyReceipt } from '../src/sdk/index.ts'

const { AEGIS_URL: url, AEGIS_API_KEY: key, AEGIS_PUBLIC_KEY: publicKey } = process.env
if (url === undefined || key === undefined || publicKey === undefined) {
  throw new Error('set AEGIS_URL, AEGIS_API_KEY and AEGIS_PUBLIC_KEY to what `npm run dev` prints')
}
const aegis = new Aegis({ url, key, verify: { keys: [publicKey] } })
const say = (text: string) => process.stdout.write(`${text}\n`)

const actions: readonly Action[] = [
  { tool: 'files', action: 'read', mutates: false, parameters: { path: '/srv/notes/today.md' } },
  { tool: 'files', action: 'write', parameters: { path: '/srv/notes/today.md', text: 'Rain.' } },
  { tool: 'shell', action: 'exec', parameters: { command: 'rm -r /' } },
]

for (const action of actions) {
  try {
    const answer = await aegis.authorize(action, { context: { sourceTrust: 'semi_trusted_customer' } })
    switch (answer.kind) {
      case 'allowed':
        // What was authorized is `answer.action`, a frozen copy: run that one.
        if (answer.grant.isUsable()) runTool(action, answer.receipt.line, publicKey)
        break
      case 'approval_required':
        say(
          `${nameOf(action)}: ${answer.approval.groups.join(' or ')} must approve ${answer.approval.approvalId}`,
        )
        break
      case 'denied':
        say(`${nameOf(action)}: denied, ${answer.reason.code}`)
        break
    }
  } catch (error) {
    // No decision that can be believed: nothing runs.
    if (!(error instanceof AegisError)) throw error
    say(`${nameOf(action)}: no decision, ${error.message}`)
    process.exitCode = 1
  }
}

/** The tool's side, perhaps in another process: it believes the receipt and not the agent. */
function runTool(action: Action, receipt: string, key: string): void {
  const checked = verifyReceipt(receipt, { action, tenant: aegis.tenant, keys: [key] })
  if (!checked.valid) throw new Error(`the tool refuses: ${checked.reason}`)
  say(`${nameOf(action)}: runs under ${checked.grantId}, once`)
}

function nameOf({ tool, action }: Action): string {
  return `${tool}.${action}`
}
