import type { RequestOf, ResponseOf } from 'hookonce/client'
import { client, newKey } from '../api.ts'
import { useResource } from '../data/resource.ts'
import { toast } from '../shell/toasts.tsx'
import { texts } from '../texts.ts'
import { JobsDialog } from './jobs-dialog.tsx'
import { Sample } from './sample.tsx'
import { Time } from './time.tsx'

const words = texts.retryNow

/** The jobs, in the form in which the API selects them. */
export type RetryFilter = RequestOf<'POST', '/retries/plan'>['body']
type RetryPlan = ResponseOf<'POST', '/retries/plan'>

export interface RetryNowProps {
  readonly filter: RetryFilter
  /** A description of the jobs. */
  readonly what: string
  readonly onClose: () => void
  readonly onDone: () => void
}

/**
 * Runs jobs now that wait for their next attempt. Counts them first, and shows the pauses and
 * circuits that still hold them.
 */
export function RetryNowDialog({ filter, what, onClose, onDone }: RetryNowProps) {
  const planned = useResource(
    (signal) => client.post('/retries/plan', { body: filter, signal }),
    [JSON.stringify(filter)],
  )

  async function confirm(why: string): Promise<void> {
    const { jobs, isComplete } = await client.post('/retries', {
      body: { ...filter, why },
      idempotencyKey: newKey(),
    })
    toast(words.notice(jobs, isComplete))
    onDone()
  }

  return (
    <JobsDialog
      title={words.title}
      verb={words.verb}
      what={what}
      planned={planned}
      consequences={(plan) => <Consequences plan={plan} />}
      onConfirm={confirm}
      onClose={onClose}
    />
  )
}

function Consequences({ plan }: { readonly plan: RetryPlan }) {
  const held = [
    ...plan.unattended.map(({ subscriber }) => words.unattended(subscriber)),
    ...plan.paused.map(({ source, subscriber }) => words.paused(subscriber ?? source)),
    ...plan.circuits.map(({ subscriber, state }) => words.circuit(subscriber, state)),
  ]
  return (
    <>
      <dt>{words.willRun}</dt>
      <dd>
        {words.jobs(plan.jobs, plan.isComplete)}
        <Sample ids={plan.sample} />
        {plan.firstDueAt !== null && (
          <>
            {' '}
            {words.otherwise} <Time at={plan.firstDueAt} />.
          </>
        )}
      </dd>
      <dt>{words.willNot}</dt>
      <dd>{words.willNotText}</dd>
      {held.length > 0 && [
        <dt key="name" class="retrying">
          {words.held}
        </dt>,
        ...held.map((reason) => <dd key={reason}>{reason}</dd>),
      ]}
    </>
  )
}
