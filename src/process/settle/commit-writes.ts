import type { Pool, PoolClient } from 'pg'
import { type HandedOver, recordOf } from '../../effects/hand-over.ts'
import { IDLE_MS, inTransaction } from '../../ledger/driver/in-transaction.ts'
import { type PipelinedStatement, pipeline, placeOf } from '../../ledger/driver/pipeline.ts'
import { afterJobs, betweenJobs } from '../../ledger/driver/sessions.ts'
import { completeWritten } from '../../ledger/jobs/complete.ts'
import type { JobRef } from '../../ledger/jobs/job-ref.ts'
import { addMessages } from '../../ledger/outbox/messages.ts'
import { HookonceError } from '../../model/errors.ts'
import { type Fault, faultOf } from './write-faults.ts'

/** A job whose handler has returned, with the writes and messages that it handed over. */
export interface WrittenJob extends HandedOver {
  readonly job: JobRef
}

export type CommitOutcome =
  | { readonly kind: 'committed' }
  /** The lease was lost before: nothing of it was written. */
  | { readonly kind: 'lost' }
  /** One of its own writes failed: nothing of it was written. */
  | { readonly kind: 'refused'; readonly error: unknown }

/** Nothing of it was written: it must be committed by itself. */
const ALONE = { kind: 'alone' } as const
export type SharedOutcome = CommitOutcome | typeof ALONE

/** After so many failures of one batch, all that is left of it is committed job by job. */
const MAX_FAILURES = 3
/**
 * A job under which the connection broke this often, all but the first time while it was alone, is
 * to blame for it.
 */
const MAX_BREAKS = 3
/**
 * Texts of statements that must not share a transaction. A program that builds its SQL anew each
 * time fills it.
 */
const MAX_HARMFUL = 100

export interface WriteCommitter {
  /**
   * Commits the writes and completions of many jobs in one transaction: they share the cost of a
   * commit, and nothing else. No savepoints: when a job fails, the batch is rolled back and
   * committed without it.
   */
  together(batch: readonly WrittenJob[]): Promise<SharedOutcome[]>
  alone(member: WrittenJob): Promise<CommitOutcome>
}

export interface WriteConnections {
  /** For the writes only: no session of the engine runs user code. */
  readonly writes: Pool
  /** The engine's, to find out whether the ledger answers. */
  readonly pool: Pool
}

/**
 * Both verbs throw only where the ledger cannot be reached, or the connection broke: the caller
 * tries again.
 */
export function writeCommitter({ writes, pool }: WriteConnections): WriteCommitter {
  const harmful = new Set<string>()
  /** How often the connection broke under a job. */
  const breaks = new WeakMap<JobRef, number>()

  async function together(batch: readonly WrittenJob[]): Promise<SharedOutcome[]> {
    const outcomes = new Map<WrittenJob, SharedOutcome>()
    let rest = batch.filter((member) => !mustBeAlone(member))
    for (let failures = 1; rest.length > 0; failures += 1) {
      const { committed, failure } = await tryToCommit(rest)
      if (committed) {
        for (const [index, member] of rest.entries()) outcomes.set(member, committed[index] ?? ALONE)
        break
      }
      if (failure.fault.of === 'ledger') throw failure.error
      const blamed = blame(rest, failure)
      rest = failures < MAX_FAILURES ? rest.filter((member) => !blamed.includes(member)) : []
    }
    return batch.map((member) => outcomes.get(member) ?? ALONE)
  }

  async function alone(member: WrittenJob): Promise<CommitOutcome> {
    const { committed, failure } = await tryToCommit([member])
    if (committed) {
      for (const { text } of member.writes) harmful.delete(text)
      return committed[0] ?? { kind: 'lost' }
    }
    // An administrator may have ended the connection, or the server: that is no failure of the job.
    if (failure.fault.of !== 'statement' && breaksOf(member) < MAX_BREAKS) throw failure.error
    blame([member], failure)
    return { kind: 'refused', error: failure.error }
  }

  /**
   * Throws where no write was sent: the ledger cannot be reached, or the connection was already
   * broken.
   */
  async function tryToCommit(batch: readonly WrittenJob[]): Promise<CommitAttempt> {
    let isWriting = false
    try {
      const committed = await inTransaction(writes, async (client) => {
        // Fence first: the writes of a job that has lost its lease are not sent.
        const live = await completeWritten(
          client,
          batch.map((member) => ({ job: member.job, step: recordOf(member) })),
        )
        isWriting = true
        await write(
          client,
          batch.filter((_, index) => live[index]),
        )
        await client.query('commit')
        return live.map((isLive): CommitOutcome => ({ kind: isLive ? 'committed' : 'lost' }))
      })
      return { committed }
    } catch (thrown) {
      if (!isWriting) throw thrown
      const culprit = thrown instanceof FailedWrite ? thrown : undefined
      const error = culprit ? culprit.cause : thrown
      const fault = await faultOf(error, pool)
      // A statement may crash the server: after a break each job is on its own, so that it is known
      // whose.
      if (fault.of !== 'statement') {
        for (const member of batch) breaks.set(member.job, breaksOf(member) + 1)
      }
      return { failure: { error, fault, culprit } }
    }
  }

  function breaksOf({ job }: WrittenJob): number {
    return breaks.get(job) ?? 0
  }

  function mustBeAlone(member: WrittenJob): boolean {
    return breaksOf(member) > 0 || member.writes.some(({ text }) => harmful.has(text))
  }

  /**
   * Those that must be committed alone from now on: all of them, where it is not known who failed.
   */
  function blame(batch: readonly WrittenJob[], { fault, culprit }: Failure): readonly WrittenJob[] {
    if (fault.of !== 'statement') return batch
    if (fault.isHarmful) {
      const texts = culprit ? [culprit.text] : textsLike(batch, fault.busyWith)
      for (const text of texts) remember(text)
    }
    const blamed = batch.filter((member) => member === culprit?.member || mustBeAlone(member))
    return blamed.length > 0 ? blamed : batch
  }

  function remember(text: string): void {
    const [oldest] = harmful
    if (harmful.size >= MAX_HARMFUL && oldest !== undefined) harmful.delete(oldest)
    harmful.add(text)
  }

  return { together, alone }
}

interface Failure {
  readonly error: unknown
  readonly fault: Fault
  readonly culprit: FailedWrite | undefined
}

type CommitAttempt =
  | { readonly committed: CommitOutcome[]; readonly failure?: never }
  | { readonly committed?: never; readonly failure: Failure }

/** The write that the server refused, or that changed another number of rows than it said. */
class FailedWrite extends Error {
  readonly member: WrittenJob
  readonly text: string

  constructor(member: WrittenJob, text: string, cause: unknown) {
    super('a write failed', { cause })
    this.member = member
    this.text = text
  }
}

async function write(client: PoolClient, members: readonly WrittenJob[]): Promise<void> {
  await writeStatements(
    client,
    members.filter(({ writes }) => writes.length > 0),
  )
  await addMessages(
    client,
    members.flatMap(({ messages }) => messages),
  )
}

async function writeStatements(client: PoolClient, members: readonly WrittenJob[]): Promise<void> {
  if (members.length === 0) return
  const between = betweenJobs(client)
  const sent: PipelinedStatement[] = []
  /** Where the statements of each member begin. */
  const places: number[] = []
  for (const { writes } of members) {
    if (sent.length > 0) sent.push(...between)
    places.push(sent.length)
    sent.push(...writes)
  }
  sent.push(...afterJobs(client, { idleMs: IDLE_MS, isAlone: members.length === 1 }))
  const counts = await pipeline(client, sent).catch((error) => {
    throw failedWrite(error) ?? error
  })
  for (const [index, member] of members.entries()) requireRows(member, counts, places[index] ?? 0)

  function failedWrite(error: unknown): FailedWrite | undefined {
    const place = placeOf(error)
    if (place === undefined) return undefined
    const member = members[places.findLastIndex((first) => first <= place)]
    const text = sent[place]?.text
    const isOfMember = member?.writes.some((one) => one === sent[place])
    return member && text !== undefined && isOfMember ? new FailedWrite(member, text, error) : undefined
  }
}

function requireRows(member: WrittenJob, counts: readonly number[], first: number): void {
  for (const [index, { text, rows }] of member.writes.entries()) {
    const changed = counts[first + index]
    if (rows === undefined || changed === rows) continue
    const fault = `${rows} rows were expected to change, ${changed} did: ${text.slice(0, 200)}`
    throw new FailedWrite(member, text, new HookonceError('WRITE_UNEXPECTED', fault))
  }
}

/**
 * The texts of a batch that begin like this one, of which the server shows only the first 1,024
 * bytes.
 */
function textsLike(batch: readonly WrittenJob[], beginning: string | undefined): string[] {
  if (!beginning) return []
  const texts = batch.flatMap(({ writes }) => writes.map(({ text }) => text))
  return texts.filter((text) => text.startsWith(beginning))
}
