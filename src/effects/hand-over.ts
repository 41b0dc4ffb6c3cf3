import type { Pool } from 'pg'
import { PUBLISHED, stepNames, WRITTEN, WRITTEN_AND_PUBLISHED } from '../ledger/effects/steps.ts'
import type { NewMessage } from '../ledger/outbox/messages.ts'
import { type MessageOrigin, type PublishOptions, type StepMessages, stepMessages } from './message.ts'
import { type CheckedWrite, checkWrite, type Write } from './write.ts'

/** Writes and messages to be committed with the completion of their job. */
export interface HandedOver {
  readonly writes: readonly CheckedWrite[]
  readonly messages: readonly NewMessage[]
}

export const NOTHING_HANDED_OVER: HandedOver = { writes: [], messages: [] }

export function hasHandedOver({ writes, messages }: HandedOver): boolean {
  return writes.length > 0 || messages.length > 0
}

/**
 * The step that records a hand-over. A record of messages must not count as a record of writes, nor
 * the reverse.
 */
export function recordOf({ writes, messages }: HandedOver): string {
  if (messages.length === 0) return WRITTEN
  return writes.length === 0 ? PUBLISHED : WRITTEN_AND_PUBLISHED
}

export interface HandOverOrigin extends MessageOrigin {
  readonly business: MessageOrigin['business'] & { readonly pool: Pool }
  /** The step whose commit completed an earlier run of this job. */
  readonly lastStep: string | undefined
}

/** Collects the writes and messages that a handler passes to ctx.write and ctx.publish. */
export class HandOver implements HandedOver {
  readonly writes: CheckedWrite[] = []
  readonly #origin: HandOverOrigin
  readonly #collected: StepMessages
  /** The hand-over that the last completed run of this job committed. */
  readonly #committed: Committed

  constructor(origin: HandOverOrigin) {
    this.#origin = origin
    // Messages have ids that contain this name, with or without writes in the same hand-over.
    this.#collected = stepMessages(origin, WRITTEN)
    this.#committed = origin.lastStep === undefined ? NOTHING_COMMITTED : committedBy([origin.lastStep])
  }

  get messages(): readonly NewMessage[] {
    return this.#collected.messages
  }

  write(statements: readonly Write[]): void {
    const checked = statements.map(checkWrite)
    // In a replay, these writes were committed with the completion of the earlier run.
    if (!this.#committed.writes) this.writes.push(...checked)
  }

  publish(topic: string, payload: unknown, options?: PublishOptions): string {
    return this.#collected.publish(topic, payload, options)
  }

  /**
   * Drops writes that an earlier run has committed, so that a replay does not repeat them. Reads
   * the steps of the job if its row is not enough.
   */
  async dropRepeated(): Promise<void> {
    if (this.#committed.messages) this.#collected.keep(0)
    const { job, epoch, lastStep, business } = this.#origin
    if (lastStep === undefined || !hasHandedOver(this)) return
    // The job's row names only the last completion. An earlier completion may have committed these
    // writes.
    const earlier = committedBy(await stepNames(business.pool, { job, epoch }))
    if (earlier.writes) this.writes.length = 0
    if (earlier.messages) this.#collected.keep(0)
  }
}

interface Committed {
  readonly writes: boolean
  readonly messages: boolean
}

const NOTHING_COMMITTED: Committed = { writes: false, messages: false }

function committedBy(steps: readonly string[]): Committed {
  return {
    writes: steps.includes(WRITTEN) || steps.includes(WRITTEN_AND_PUBLISHED),
    messages: steps.includes(PUBLISHED) || steps.includes(WRITTEN_AND_PUBLISHED),
  }
}
