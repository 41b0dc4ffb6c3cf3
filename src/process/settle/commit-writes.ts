import type { Pool, PoolClient } from 'pg'
import { type HandedOver, recordOf } from '../../effects/hand-over.ts'
import { IDLE_MS, inTransaction } from '../../ledger/driver/in-transaction.ts'
import { type PipelinedStatement, pipeline, placeOf } from '../../ledger/driver/pipeline.ts'
import { afterJobs, beforeAlone, betweenJobs } from '../../ledger/driver/sessions.ts'
import { isConflict, MAX_TRIES } from '../../ledger/driver/sql-state.ts'
import { completeWritten } from '../../ledger/jobs/complete.ts'
import type { JobRef } from '../../ledger/jobs/job-ref.ts'
import { addMessages } from '../../ledger/outbox/messages.ts'
import { HookonceError } from '../../model/errors.ts'
import { type Fault, faultOf } from './write-faults.ts'

/** A job whose handler has returned, and the writes and messages that it handed over. */
export interface WrittenJob extends HandedOver {
  readonly job: JobRef
  /** The number of steps that the run has seen. */
  readonly steps: number
}

export type CommitOutcome =
  | { readonly kind: 'committed' }
  /** The lease or a step of the run was lost: nothing was written. */
  | { readonly kind: 'lost' }
  /** A write of this job failed: nothing was written. */
  | { readonly kind: 'refused'; readonly error: unknown }

/** Nothing was written: the job must be committed in its own transaction. */
const ALONE = { kind: 'alone' } as const
export type SharedOutcome = CommitOutcome | typeof ALONE

/** After this many failures of one batch, its remaining jobs are committed one by one. */
const MAX_FAILURES = 3
/**
 * If the connection broke this often during a job, and each time but the first the job was alone,
 * the job is the cause.
 */
const MAX_BREAKS = 3
/**
 * The limit on remembered texts of harmful statements: a program that builds new SQL each time adds
 * many.
 */
const MAX_HARMFUL = 100

export interface WriteCommitter {
  /**
   * Commits the writes and completions of many jobs in one transaction. The jobs share only the
   * cost of the commit. There are no savepoints: when a job fails, the batch is rolled back and
   * committed without that job.
   */
  together(batch: readonly WrittenJob[]): Promise<SharedOutcome[]>
  alone(member: WrittenJob): Promise<CommitOutcome>
}

export interface WriteConnections {
  /** A separate pool for the writes: user code never runs in a session of the engine. */
  readonly writes: Pool
  /** The engine's pool, to check whether the ledger answers. */
  readonly pool: Pool
}

/**
 * Both methods throw only if the ledger is unreachable or the connection broke. The caller then
 * retries.
 */
export function writeCommitter({ writes, pool }: WriteConnections): WriteCommitter {
  const harmful = new Set<string>()
  /** How often the connection broke during a job's writes. */
  const breaks = new WeakMap<JobRef, number>()

  async function together(batch: readonly WrittenJob[]): Promise<SharedOutcome[]> {
    const outcomes = new Map<WrittenJob, SharedOutcome>()
    let rest = batch.filter((member) => !mustBeAlone(member))
    for (let failures = 1; rest.length > 0; failures += 1) {
      const { committed, failure } = await tryToCommit(rest, 'together')
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
    const { committed, failure } = await tryWithConflicts(member)
    if (committed) {
      for (const { text } of member.writes) harmful.delete(text)
      return committed[0] ?? { kind: 'lost' }
    }
    // An administrator may have ended the connection or the server, so the job is not the cause.
    if (failure.fault.of !== 'statement' && breaksOf(member) < MAX_BREAKS) throw failure.error
    blame([member], failure)
    return { kind: 'refused', error: failure.error }
  }

  /** Jobs that are committed alone run in parallel, so they may deadlock. */
  async function tryWithConflicts(member: WrittenJob): Promise<CommitAttempt> {
    for (let tries = 1; ; tries += 1) {
      const attempt = await tryToCommit([member], 'alone')
      if (attempt.committed || tries >= MAX_TRIES || !isConflict(attempt.failure.error)) return attempt
    }
  }

  /**
   * Throws if no write was sent: the ledger is unreachable, or the connection was already broken.
   */
  async function tryToCommit(batch: readonly WrittenJob[], mode: CommitMode): Promise<CommitAttempt> {
    let isWriting = false
    const commit = async (client: PoolClient): Promise<CommitOutcome[]> => {
      // Checks fences and steps first: if a job has lost its fence or a step, its writes are not
      // sent.
      const live = await completeWritten(
        client,
        batch.map((member) => ({ job: member.job, step: recordOf(member), steps: member.steps })),
      )
      isWriting = true
      await write(
        client,
        batch.filter((_, index) => live[index]),
        mode,
      )
      await client.query('commit')
      return live.map((isLive) => ({ kind: isLive ? 'committed' : 'lost' }))
    }
    try {
      return { committed: await inTransaction(writes, commit) }
    } catch (thrown) {
      if (!isWriting) throw thrown
      const culprit = thrown instanceof FailedWrite ? thrown : undefined
      const error = culprit ? culprit.cause : thrown
      const fault = await faultOf(error, pool)
      // A statement may crash the server. After a broken connection each job is committed alone, to
      // find the statement.
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

  /** The jobs that must be committed alone from now on: all of them if the cause is unknown. */
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

/** Alone in its session, a job is not affected by settings of other jobs. */
type CommitMode = 'together' | 'alone'

interface Failure {
  readonly error: unknown
  readonly fault: Fault
  readonly culprit: FailedWrite | undefined
}

type CommitAttempt =
  | { readonly committed: CommitOutcome[]; readonly failure?: never }
  | { readonly committed?: never; readonly failure: Failure }

/** A write that the server refused, or that changed an unexpected number of rows. */
class FailedWrite extends Error {
  readonly member: WrittenJob
  readonly text: string

  constructor(member: WrittenJob, text: string, cause: unknown) {
    super('a write failed', { cause })
    this.member = member
    this.text = text
  }
}

async function write(client: PoolClient, members: readonly WrittenJob[], mode: CommitMode): Promise<void> {
  await writeStatements(
    client,
    members.filter(({ writes }) => writes.length > 0),
    mode,
  )
  await addMessages(
    client,
    members.flatMap(({ messages }) => messages),
  )
}

async function writeStatements(
  client: PoolClient,
  members: readonly WrittenJob[],
  mode: CommitMode,
): Promise<void> {
  if (members.length === 0) return
  const between = betweenJobs(client)
  const sent: PipelinedStatement[] = mode === 'alone' ? beforeAlone() : []
  /** Index of the first statement of each member. */
  const places: number[] = []
  for (const { writes } of members) {
    if (places.length > 0) sent.push(...between)
    places.push(sent.length)
    sent.push(...writes)
  }
  sent.push(...afterJobs(client, { idleMs: IDLE_MS, isAlone: members.length === 1 }))
  const counts = await pipeline(client, sent, { isPrepared: mode === 'together' }).catch((error) => {
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
    const fault = `expected to change ${rows} rows, changed ${changed}: ${text.slice(0, 200)}`
    throw new FailedWrite(member, text, new HookonceError('WRITE_UNEXPECTED', fault))
  }
}

/**
 * The statements of a batch that begin with this text. The server reports only the first 1,024
 * bytes of a statement.
 */
function textsLike(batch: readonly WrittenJob[], beginning: string | undefined): string[] {
  if (!beginning) return []
  const texts = batch.flatMap(({ writes }) => writes.map(({ text }) => text))
  return texts.filter((text) => text.startsWith(beginning))
}
