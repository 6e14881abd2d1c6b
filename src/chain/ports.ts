/**
 * What the chain needs from the world: a transactional store, a clock, randomness, keys. Everything is synchronous,
 * because nothing may await between reading the head and inserting (record.md, the chain rule).
 */
import type { CryptoSuite, RequestDigest, Signer } from '../record/index.ts'
import type {
  AgentCounters,
  AgentRecord,
  ApprovalRecord,
  GroupRecord,
  HeadRecord,
  KeyRecord,
  RequestRecord,
  StoredRow,
  TenantRecord,
} from './records.ts'

/** One tenant's store. Reads inside a transaction see its writes. */
export interface ChainStore {
  /** All writes of `work` or, when it throws, none. May be nested: the inner one then rolls back alone. */
  transaction<T>(work: () => T): T

  /** `undefined` on an object that was never provisioned; nothing else may then be called but `createTenant`. */
  readTenant(): TenantRecord | undefined
  /** Makes the tables and the first rows. Throws when they exist. */
  createTenant(tenant: TenantRecord, head: HeadRecord): void
  writeTenant(tenant: TenantRecord): void

  readHead(): HeadRecord
  /** Compare-and-set on the hash of the last Line; throws when the stored head is another one. */
  replaceHead(expected: HeadRecord, next: HeadRecord): void
  /** Stores consecutive Lines as one row, keyed by the position of the first. */
  appendLines(sessionIndex: number, seq: number, lines: readonly Uint8Array[]): void
  /** The stored bytes of a Line, or `undefined` when its row was published and deleted, or never was. */
  readLine(sessionIndex: number, seq: number): Uint8Array | undefined
  /** Rows of a Session in order, from the one that holds `seq`. To be used up before the transaction ends. */
  readRows(sessionIndex: number, seq: number): Iterable<StoredRow>

  readAgent(id: string): AgentRecord | undefined
  writeAgent(agent: AgentRecord): void
  readCounters(agentId: string): AgentCounters | undefined
  writeCounters(counters: AgentCounters): void

  readKey(id: string): KeyRecord | undefined
  writeKey(key: KeyRecord): void

  readGroup(name: string): GroupRecord | undefined
  writeGroup(group: GroupRecord): void

  isToolFrozen(toolId: string): boolean
  setToolFrozen(toolId: string, frozen: boolean): void

  /** Found for 24 h at least, 48 h at most. `route` keeps authorize and consume apart. */
  readRequest(agentId: string, route: string, requestId: string, now: number): RequestRecord | undefined
  insertRequest(agentId: string, route: string, requestId: string, request: RequestRecord, now: number): void

  hasNonce(agentId: string, nonce: string, now: number): boolean
  insertNonce(agentId: string, nonce: string, now: number): void

  /** Keeps the bytes until they are published; the same digest twice is one row. */
  stageEnvelope(digest: RequestDigest, bytes: Uint8Array): void

  insertApproval(approval: ApprovalRecord): void
  readApproval(approvalId: string): ApprovalRecord | undefined

  /** Whether another Call still fits. */
  hasRoom(): boolean
}

/** What a transaction is given besides its store. */
export interface ChainContext {
  readonly store: ChainStore
  readonly suite: CryptoSuite
  /** The object's clock, integer ms since the epoch, read once for each draft. */
  readonly now: number
  /** `count` random bytes. */
  readonly random: (count: number) => Uint8Array
  /** The Line key of a generation. */
  readonly signer: (tenant: TenantRecord) => Signer
}
