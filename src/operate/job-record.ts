import { messageId } from '../effects/message-id.ts'
import {
  type JobEpoch,
  jobEpochs,
  PUBLISHED,
  type StepDone,
  stepsDone,
  WRITTEN,
  WRITTEN_AND_PUBLISHED,
} from '../ledger/effects/steps.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { messagesById, type PublishedMessage } from '../ledger/read/outbox.ts'
import type { ReceiptRow } from '../ledger/read/receipts.ts'

/** The records of a job's current epoch. */
export interface JobRecord extends JobEpoch {
  /** Steps, transactions and writes that are done. */
  readonly steps: readonly string[]
  /** The finished work with its times, except a step whose commit completed the job. */
  readonly timedSteps: readonly StepDone[]
  /** Published messages of the job that the outbox still holds. */
  readonly messages: readonly PublishedMessage[]
}

/** The records of all jobs on a receipt. */
export async function jobRecords(
  ledger: LedgerTables,
  { shard, id: receiptId }: Pick<ReceiptRow, 'shard' | 'id'>,
): Promise<JobRecord[]> {
  const records: JobRecord[] = []
  for (const job of await jobEpochs(ledger.pool, { shard, receiptId })) {
    const { subscriber, epoch } = job
    const timedSteps = await stepsDone(ledger.pool, { job: { shard, receiptId, subscriber }, epoch })
    const steps = namesOf(timedSteps, job)
    records.push({ ...job, steps, timedSteps, messages: await messagesOf(ledger, { receiptId, job, steps }) })
  }
  return records
}

function namesOf(steps: readonly StepDone[], { lastStep }: JobEpoch): string[] {
  const names = steps.map(({ name }) => name)
  // A replay copies the step that completed the earlier run, so it may be in the list already.
  return lastStep === null || names.includes(lastStep) ? names : [...names, lastStep]
}

interface PublishingJob {
  readonly receiptId: string
  readonly job: JobEpoch
  readonly steps: readonly string[]
}

/**
 * The ids of messages follow from their place in the step. The outbox is queried for this many at a
 * time.
 */
const PLACES = 100

async function messagesOf(
  { pool, shards }: LedgerTables,
  { receiptId, job, steps }: PublishingJob,
): Promise<PublishedMessage[]> {
  const origin = { receiptId, subscriber: job.name, epoch: job.epoch }
  const messages: PublishedMessage[] = []
  for (const step of new Set(steps.map(publishingStep))) {
    for (let from = 0, count = 1; count > 0; from += PLACES) {
      const ids = Array.from({ length: PLACES }, (_, place) => messageId(origin, step, from + place))
      const found = await messagesById(pool, shards, ids)
      messages.push(...found)
      count = found.length
    }
  }
  return messages
}

/** The step name in a message's id. It is the same for all messages of ctx.publish. */
function publishingStep(step: string): string {
  return step === PUBLISHED || step === WRITTEN_AND_PUBLISHED ? WRITTEN : step
}
