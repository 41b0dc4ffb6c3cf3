import type { RequestOf } from 'hookonce/client'
import { client, explain, newKey } from '../api.ts'
import { useResource } from '../data/resource.ts'
import { toast } from '../shell/toasts.tsx'
import { texts } from '../texts.ts'
import { PlanDialog } from './dialog.tsx'
import { Skeleton } from './feedback.tsx'
import { Sample } from './sample.tsx'
import { Time } from './time.tsx'

const words = texts.retryNow

/** The jobs, in the form in which the API selects them. */
export type RetryFilter = RequestOf<'POST', '/retries/plan'>['body']

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
  const { data: plan, error } = useResource(
    (signal) => client.post('/retries/plan', { body: filter, signal }),
    [JSON.stringify(filter)],
  )

  async function confirm(why: string): Promise<void> {
    const { jobs, isComplete } = await client.post('/retries', {
      body: { ...filter, why },
      idempotencyKey: newKey(),
    })
    toast(words.told(jobs, isComplete))
    onDone()
  }

  const held = [
    ...(plan?.unattended ?? []).map(({ subscriber }) => words.unattended(subscriber)),
    ...(plan?.paused ?? []).map(({ source, subscriber }) => words.paused(subscriber ?? source)),
    ...(plan?.circuits ?? []).map(({ subscriber, state }) => words.circuit(subscriber, state)),
  ]
  return (
    <PlanDialog
      title={words.title}
      verb={words.verb}
      isReady={(plan?.jobs ?? 0) > 0}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p class="muted">{what}</p>
      {error !== undefined && <p class="fault">{explain(error)}</p>}
      {!plan && error === undefined && <Skeleton rows={3} />}
      {plan && (
        <dl class="consequence">
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
            ...held.map((one) => <dd key={one}>{one}</dd>),
          ]}
        </dl>
      )}
    </PlanDialog>
  )
}
