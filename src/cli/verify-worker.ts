/** A thread that checks signatures for `aegis verify`: an entry point of its own, started by signature-pool.ts. */
import { workerData } from 'node:worker_threads'
import { nodeSuite } from '../crypto-node/index.ts'
import { type SlotMemory, SignatureSlots } from './signature-slots.ts'

new SignatureSlots(workerData as SlotMemory).serve(nodeSuite)
