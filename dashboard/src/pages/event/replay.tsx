import type { ResponseOf } from 'hookonce/client'
import { useState } from 'preact/hooks'
import { client, explain, newKey } from '../../api.ts'
import { useResource } from '../../data/resource.ts'
import { PlanDialog } from '../../parts/dialog.tsx'
import { Skeleton } from '../../parts/feedback.tsx'
import { toast } from '../../shell/toasts.tsx'
import { texts } from '../../texts.ts'
import type { Chain } from './timeline.ts'

const words = texts.event.replay

export type ReplayPlan = ResponseOf<'GET', '/events/{id}/replay'>

/** The steps and effects that are recorded as done, by name. */
export function doneIn(plan: ReplayPlan): readonly string[] {
  return plan.fresh.flatMap(({ steps, effects, messages }) => [
    ...steps.map((name) => words.step(name)),
    ...effects.filter(({ state }) => state === 'done').map(({ key }) => words.effect(key)),
    ...messages.map(({ topic }) => words.message(topic)),
  ])
}

export interface ReplayDialogProps {
  readonly chain: Chain
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Shows which work will run again and which will not, before one event is replayed. */
export function ReplayDialog({ chain, onClose, onDone }: ReplayDialogProps) {
  const { id } = chain.receipt
  const [subscriber, setSubscriber] = useState('')
  const [isFresh, setFresh] = useState(false)
  const only = subscriber === '' ? {} : { subscriber }
  const { data: plan, error } = useResource(
    (signal) => client.get('/events/{id}/replay', { params: { id }, query: only, signal }),
    [id, subscriber],
  )
  const running = plan?.jobs.filter(({ again }) => again) ?? []

  async function confirm(why: string): Promise<void> {
    const { jobs } = await client.post('/events/{id}/replay', {
      params: { id },
      body: { why, fresh: isFresh, ...only },
      idempotencyKey: newKey(),
    })
    toast(words.replayed(jobs))
    onDone()
  }

  return (
    <PlanDialog
      title={words.title(chain.receipt.eventType)}
      verb={isFresh ? words.verbFresh : words.verb}
      isDangerous={isFresh}
      isReady={running.length > 0}
      onConfirm={confirm}
      onClose={onClose}
    >
      {chain.jobs.length > 1 && (
        <label class="field">
          <span>{words.subscriber}</span>
          <select value={subscriber} onChange={(event) => setSubscriber(event.currentTarget.value)}>
            <option value="">{words.all}</option>
            {chain.jobs.map((job) => (
              <option key={job.subscriber} value={job.subscriber}>
                {job.subscriber}
              </option>
            ))}
          </select>
        </label>
      )}
      {error !== undefined && <p class="fault">{explain(error)}</p>}
      {plan ? <Plan plan={plan} isFresh={isFresh} /> : error === undefined && <Skeleton rows={3} />}
      {plan && doneIn(plan).length > 0 && (
        <label class="check">
          <input
            type="checkbox"
            checked={isFresh}
            onChange={(event) => setFresh(event.currentTarget.checked)}
          />
          <span>
            <b>{words.fresh}</b> <span class="muted">{words.freshHint}</span>
          </span>
        </label>
      )}
    </PlanDialog>
  )
}

function Plan({ plan, isFresh }: { readonly plan: ReplayPlan; readonly isFresh: boolean }) {
  const run = plan.jobs.filter(({ again }) => again)
  const stay = plan.jobs.filter(({ again }) => !again)
  const done = doneIn(plan)
  return (
    <dl class="consequence">
      <dt>{words.willRun}</dt>
      <dd>{run.length === 0 ? words.nothing : run.map(({ subscriber }) => subscriber).join(', ')}</dd>
      {done.length > 0 && [
        <dt key="name" class={isFresh ? 'failed' : undefined}>
          {isFresh ? words.willRepeat : words.willNot}
        </dt>,
        <dd key="value">
          <ul class="names">
            {done.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        </dd>,
      ]}
      {done.length === 0 &&
        run.length > 0 && [<dt key="name">{words.careful}</dt>, <dd key="value">{words.nothingDone}</dd>]}
      {stay.map(({ subscriber, state }) => [
        <dt key={`${subscriber} name`}>{words.stays(subscriber)}</dt>,
        <dd key={subscriber}>{words.staysWhy(state)}</dd>,
      ])}
      {plan.unattended.map(({ subscriber }) => [
        <dt key={`${subscriber} name`} class="retrying">
          {words.unattended(subscriber)}
        </dt>,
        <dd key={`${subscriber} unattended`}>{words.unattendedHint}</dd>,
      ])}
    </dl>
  )
}
