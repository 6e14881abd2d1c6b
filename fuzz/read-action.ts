/** The body of an authorize: taken or refused with the members named; what is taken has a hash that stays. */
import { nodeSuite } from '../src/crypto-node/index.ts'
import { parseAuthorizeRequest } from '../src/protocol/authorize-request.ts'
import { actionHash, actionPreimage, parseBody } from '../src/record/index.ts'

export function readActionCall(bytes: Uint8Array): void {
  const parsed = parseAuthorizeRequest(bytes)
  if (!parsed.ok) {
    if (parsed.code === 'body_invalid' && parsed.members.length === 0)
      throw new Error('refused without a reason')
    return
  }
  const { toolCall } = parsed.request
  const preimage = actionPreimage(toolCall)
  const again = parseBody(preimage)
  if (!again.ok) throw new Error('what is hashed cannot be read')
  if (actionHash(toolCall, nodeSuite) !== actionHash(again.value as never, nodeSuite)) {
    throw new Error('the action hash moves')
  }
}
