/**
 * What the chain needs from the world: a transactional store, a clock, randomness, keys. Everything is synchronous,
 * because nothing may await between reading the head and inserting (record.md, the chain rule).
 */
import type { CryptoSuite, RequestDigest, Signer } from '../record/index.ts'
import type {
  AgentCounters,
  AgentRecord,
  ApprovalRecord,
  ApprovalState,
  DueName,
  DueRecord,
  GrantRecord,
  GroupRecord,
  HeadRecord,
  KeyRecord,
  NoticeRecord,
  PublicationRecord,
  RequestRecord,
  SegmentRecord,
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
  /** By id, from the one behind `after`; so are the other lists of what is administered. */
  listAgents(after: string, limit: number): readonly AgentRecord[]
  readCounters(agentId: string): AgentCounters | undefined
  writeCounters(counters: AgentCounters): void

  readKey(id: string): KeyRecord | undefined
  writeKey(key: KeyRecord): void
  listKeys(after: string, limit: number): readonly KeyRecord[]
  /** All that were ever issued for role `admin`, revoked ones too: as many as a tenant had administrators. */
  listAdminKeys(): readonly KeyRecord[]

  readGroup(name: string): GroupRecord | undefined
  writeGroup(group: GroupRecord): void
  listGroups(after: string, limit: number): readonly GroupRecord[]

  isToolFrozen(toolId: string): boolean
  setToolFrozen(toolId: string, frozen: boolean): void
  listFrozenTools(after: string, limit: number): readonly string[]

  /** Found for 24 h at least, 48 h at most. `route` keeps authorize and consume apart. */
  readRequest(agentId: string, route: string, requestId: string, now: number): RequestRecord | undefined
  insertRequest(agentId: string, route: string, requestId: string, request: RequestRecord, now: number): void

  hasNonce(agentId: string, nonce: string, now: number): boolean
  insertNonce(agentId: string, nonce: string, now: number): void

  /** The last row of a Session, or `undefined` when it has none. */
  readLastRow(sessionIndex: number): StoredRow | undefined
  /** All rows of a Session, once it is published. */
  deleteRows(sessionIndex: number): void
  /** Keeps the rows from a Session on apart from the Chain, which goes on without them (recover). Returns how many. */
  setRowsAside(fromSession: number, now: number): number

  /** Keeps the bytes until they are moved to the archive; the same digest twice is one row. */
  stageEnvelope(digest: RequestDigest, bytes: Uint8Array): void
  readEnvelope(digest: RequestDigest): Uint8Array | undefined
  listEnvelopes(limit: number): readonly RequestDigest[]
  deleteEnvelope(digest: RequestDigest): void

  /** Whether a digest has a tombstone: its bytes are never kept again. */
  isErased(digest: RequestDigest): boolean
  /** A tombstone for good, perhaps there already; its object is to be deleted from the archive until `deleteUntil`. */
  insertErased(digest: RequestDigest, deleteUntil: number): void
  /** Tombstones whose object is still being deleted. */
  listErasing(limit: number): readonly { readonly digest: RequestDigest; readonly deleteUntil: number }[]
  endErasing(digest: RequestDigest): void

  readPublication(): PublicationRecord
  writePublication(publication: PublicationRecord): void
  insertSegment(segment: SegmentRecord): void
  readSegment(sessionIndex: number): SegmentRecord | undefined
  /** In order, from the Session behind `after`. */
  listSegments(after: number, limit: number): readonly SegmentRecord[]

  /** All deadlines; each transaction that changes one also sets the object's alarm to the earliest. */
  listDue(): readonly DueRecord[]
  writeDue(due: DueRecord): void
  deleteDue(name: DueName): void

  /** Inserts or replaces; `deadline` is when the clock has something to do with it. */
  writeApproval(approval: ApprovalRecord, deadline: number): void
  readApproval(approvalId: string): ApprovalRecord | undefined
  /** By id, from the one behind `after`, in one state or in all; without their frozen requests. */
  listApprovals(state: ApprovalState | undefined, after: string, limit: number): readonly ApprovalRecord[]
  /** Ids in a state whose deadline has come, the earliest first. */
  listOverdueApprovals(state: ApprovalState, now: number, limit: number): readonly string[]
  /** The earliest deadline of all; `undefined` when there is none. */
  nextApprovalDeadline(): number | undefined
  deleteApproval(approvalId: string): void
  /** Inserts or replaces: there is one for an approval and a group. */
  writeNotice(notice: NoticeRecord): void
  deleteNotice(notice: Pick<NoticeRecord, 'approvalId' | 'group'>): void
  /** Those whose time has come, the earliest first. */
  listNotices(now: number, limit: number): readonly NoticeRecord[]
  nextNoticeAt(): number | undefined

  /** Forgets every approval with its notices, and that agents had any pending: for a Chain that goes on without them. */
  forgetApprovals(): void

  /** Kept for 25 h at least: a report may come until 24 h after the grant has expired. */
  insertGrant(agentId: string, grant: GrantRecord, now: number): void
  readGrant(agentId: string, grantId: string, now: number): GrantRecord | undefined
  markReported(agentId: string, grantId: string, now: number): void
  /** Expired before `now` and not reported, by id from the one behind `after`. */
  listUnreported(agentId: string, after: string, now: number, limit: number): readonly GrantRecord[]

  /** Whether another Call still fits. */
  hasRoom(): boolean
}

/** What was found where something was to be kept that never changes. */
export type KeptResult =
  /** It is there, byte for byte, whoever put it. */
  | { readonly kind: 'kept' }
  /** Other bytes have that name, and stay. */
  | { readonly kind: 'conflict' }

/** The head object as it was read. */
export interface ArchivedHead {
  /** Its bytes: one `close` and LF, if it is ours. */
  readonly bytes: Uint8Array
  /** Names this very content, for {@link ChainArchive.replaceHead}. */
  readonly tag: string
}

/**
 * One tenant's part of the archive. Every method throws when the archive does not answer, also when what was asked for
 * may have happened; each may be called again.
 */
export interface ChainArchive {
  readHead(): Promise<ArchivedHead | undefined>
  /** Only if the head is still the one that was read (`undefined`: absent); `false` when it is not. */
  replaceHead(bytes: Uint8Array, replaces: string | undefined): Promise<boolean>
  putSegment(sessionIndex: number, bytes: Uint8Array): Promise<KeptResult>
  readSegment(sessionIndex: number): Promise<Uint8Array | undefined>
  putEnvelope(digest: RequestDigest, bytes: Uint8Array): Promise<KeptResult>
  hasEnvelope(digest: RequestDigest): Promise<boolean>
  deleteEnvelopes(digests: readonly RequestDigest[]): Promise<void>
  /** The highest generation of the signing key that was ever made public; -1 for none. */
  readKeyEpoch(): Promise<number>
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
  /** Whether the archive was found to go on where this store stands (continuity.ts): a Session is not sealed before. */
  readonly isContinuous: boolean
}
