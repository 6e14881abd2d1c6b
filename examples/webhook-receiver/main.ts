/**
 * AEGIS_WEBHOOK_SECRET=whsec_… npx tsx examples/webhook-receiver/main.ts
 *
 * Listens on PORT (8788) of 127.0.0.1, behind whatever gives it TLS. With CHAT_URL it posts `{"text": …}` there, which is
 * what Slack, Mattermost and others take; without, it prints.
 */
import { createReceiver, toText } from './receiver.ts'

const { AEGIS_WEBHOOK_SECRET: secret, CHAT_URL: chat, PORT: port = '8788' } = process.env
if (secret === undefined) {
  process.stderr.write(
    'AEGIS_WEBHOOK_SECRET is not set: an admin reads it at /v1/groups/{name}/webhook-secret\n',
  )
  process.exit(1)
}

const receiver = createReceiver({
  secret,
  async pass(notice) {
    const text = toText(notice)
    if (chat === undefined) {
      // Names come from elsewhere: nothing in them may steer the terminal.
      process.stdout.write(`${text.replace(/[^\x20-\x7e]/g, '?')}\n`)
      return
    }
    const answer = await fetch(chat, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text }),
      signal: AbortSignal.timeout(4_000),
    })
    if (!answer.ok) throw new Error(`the chat answered ${String(answer.status)}`)
  },
})

receiver.listen(Number(port), '127.0.0.1', () => {
  process.stdout.write(`waiting for notices on http://127.0.0.1:${port}\n`)
})
