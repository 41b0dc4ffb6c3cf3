import type { RequestOf, ResponseOf } from 'hookonce/client'
import { useState } from 'preact/hooks'
import { canOperate, client, newKey } from '../api.ts'
import { useResource } from '../data/resource.ts'
import { formatCount, formatDuration } from '../format.ts'
import { toast } from '../shell/toasts.tsx'
import { texts } from '../texts.ts'
import { CancelReplay, type Replay } from './cancel-replay.tsx'
import { JobsDialog } from './jobs-dialog.tsx'
import { Sample } from './sample.tsx'

const words = texts.replayMany

/** The jobs, in the form in which the API selects them. */
export type ReplayFilter = Omit<RequestOf<'POST', '/replays/plan'>['body'], 'perSecond'>
type ReplayPlan = ResponseOf<'POST', '/replays/plan'>

export interface ReplayManyProps {
  readonly filter: ReplayFilter
  /** A description of the replayed jobs. */
  readonly what: string
  /** The default name of the replay. */
  readonly suggestedName?: string
  readonly onClose: () => void
  readonly onStarted: (replay: Replay) => void
}

/**
 * A replay of all matching jobs. They are counted first, then replayed in the background at a
 * limited rate.
 */
export function ReplayManyDialog(props: ReplayManyProps) {
  const { filter, what, suggestedName = '', onClose, onStarted } = props
  const [perSecond, setPerSecond] = useState(50)
  const [name, setName] = useState(suggestedName)
  const planned = useResource(
    (signal) => client.post('/replays/plan', { body: { ...filter, perSecond }, signal }),
    [JSON.stringify(filter), perSecond],
  )

  async function confirm(why: string): Promise<void> {
    const body = { ...filter, perSecond, why, name: name.trim() || why.slice(0, 200) }
    const replay = await client.post('/replays', { body, idempotencyKey: newKey() })
    toast(words.started(replay.expected))
    onStarted(replay)
  }

  return (
    <JobsDialog
      title={words.title}
      verb={words.verb(planned.data?.jobs ?? 0)}
      what={what}
      planned={planned}
      consequences={(plan) => <Consequences plan={plan} />}
      onConfirm={confirm}
      onClose={onClose}
    >
      <label class="field">
        <span>{words.name}</span>
        <input
          value={name}
          maxLength={200}
          autocomplete="off"
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <small>{words.nameHint}</small>
      </label>
      <label class="field">
        <span>{words.rate}</span>
        <input
          type="number"
          min={1}
          max={500}
          value={perSecond}
          onChange={({ currentTarget: { valueAsNumber } }) =>
            setPerSecond(Math.max(1, Math.min(500, Math.round(valueAsNumber) || 50)))
          }
        />
        <small>{words.rateHint}</small>
      </label>
    </JobsDialog>
  )
}

function Consequences({ plan }: { readonly plan: ReplayPlan }) {
  return (
    <>
      <dt>{words.willRun}</dt>
      <dd>
        {words.jobs(plan.jobs, plan.isComplete)}
        {plan.jobs > 0 && `, ${words.takes(formatDuration(plan.estimatedSeconds * 1_000))}`}
        <Sample ids={plan.sample} />
      </dd>
      <dt>{words.willNot}</dt>
      <dd>
        {plan.effects.count === 0 ? words.noEffects : words.effects(plan.effects.count, plan.effects.ofJobs)}
      </dd>
      {plan.effects.keys.length > 0 && (
        <dd>
          <code>{plan.effects.keys.slice(0, 5).join(', ')}</code>
        </dd>
      )}
      {plan.unattended.map(({ source, subscriber }) => [
        <dt key={`${source} ${subscriber} name`} class="retrying">
          {texts.event.replay.unattended(subscriber)}
        </dt>,
        <dd key={`${source} ${subscriber}`}>{texts.event.replay.unattendedHint}</dd>,
      ])}
    </>
  )
}

/** The progress of a replay, until it ends. */
export function ReplayProgress({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { data, reload } = useResource(
    (signal) => client.get('/replays/{id}', { params: { id }, signal }),
    [id],
    {
      refreshMs: 1_000,
    },
  )
  const [isCancelling, setCancelling] = useState(false)
  if (!data) return null
  const { state, replayed, expected, name } = data

  return (
    <div class="card progress">
      <span class={`pill ${state === 'running' ? 'processing' : state === 'done' ? 'processed' : 'neutral'}`}>
        {words.states[state]}
      </span>
      <b class="cut">{name}</b>
      <progress max={Math.max(1, expected)} value={replayed} aria-label={name} />
      <span class="muted">{words.progress(formatCount(replayed), formatCount(expected))}</span>
      {state !== 'running' && (
        <button type="button" class="small" onClick={onClose}>
          {texts.close}
        </button>
      )}
      {state === 'running' && canOperate.value && (
        <button type="button" class="small" onClick={() => setCancelling(true)}>
          {texts.cancel}…
        </button>
      )}
      {isCancelling && <CancelReplay replay={data} onClose={() => setCancelling(false)} onDone={reload} />}
    </div>
  )
}
