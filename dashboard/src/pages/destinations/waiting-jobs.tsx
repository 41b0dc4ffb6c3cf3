import type { ItemOf, ResponseOf } from 'hookonce/client'
import { useState } from 'preact/hooks'
import { canOperate, client, newKey } from '../../api.ts'
import { useResource } from '../../data/resource.ts'
import { formatCount } from '../../format.ts'
import { JobsDialog } from '../../parts/jobs-dialog.tsx'
import { toast } from '../../shell/toasts.tsx'
import { texts } from '../../texts.ts'

type Subscriber = ItemOf<'/subscribers'>
type Plan = ResponseOf<'GET', '/subscribers/{source}/{subscriber}/waiting'>
type Verb = 'move' | 'discard'

const words = texts.waitingJobs

export interface WaitingJobsProps {
  readonly subscriber: Subscriber
  /** The other subscribers of its source, which can get its jobs. */
  readonly others: readonly string[]
  readonly onDone: () => void
}

/** Whether the waiting jobs need a decision: no running worker serves their subscriber. */
export function isStranded({ isServed, waiting }: Subscriber): boolean {
  return !isServed && waiting > 0
}

/** The buttons that move or discard jobs that nobody runs. */
export function WaitingJobs(props: WaitingJobsProps) {
  const [verb, setVerb] = useState<Verb>()
  if (!canOperate.value) return null
  const verbs: readonly Verb[] = props.others.length > 0 ? ['move', 'discard'] : ['discard']
  return (
    <span class="waiting-verbs">
      {verbs.map((one) => (
        <button key={one} type="button" class="small" onClick={() => setVerb(one)}>
          {words.verbs[one]}…<span class="hidden"> {words.of(props.subscriber.subscriber)}</span>
        </button>
      ))}
      {verb && <WaitingDialog {...props} verb={verb} onClose={() => setVerb(undefined)} />}
    </span>
  )
}

interface WaitingDialogProps extends WaitingJobsProps {
  readonly verb: Verb
  readonly onClose: () => void
}

function WaitingDialog({ subscriber: from, others, verb, onClose, onDone }: WaitingDialogProps) {
  const { source, subscriber, tenant } = from
  const [chosen, setChosen] = useState(others[0])
  const [begun, setBegun] = useState(false)
  const to = verb === 'move' ? chosen : undefined
  const request = { tenant, ...(to === undefined ? {} : { to, begun }) }
  const planned = useResource(
    (signal) =>
      client.get('/subscribers/{source}/{subscriber}/waiting', {
        params: { source, subscriber },
        query: request,
        signal,
      }),
    [to, begun],
  )

  async function confirm(why: string): Promise<void> {
    const { jobs } = await client.post('/subscribers/{source}/{subscriber}/waiting', {
      params: { source, subscriber },
      body: { ...request, why },
      idempotencyKey: newKey(),
    })
    toast(words.notice(jobs, to))
    onDone()
  }

  return (
    <JobsDialog
      title={words.title(verb, subscriber)}
      verb={words.verbs[verb]}
      what={words.what(subscriber, source)}
      planned={planned}
      consequences={(plan) => <Consequences plan={plan} to={to} />}
      onConfirm={confirm}
      onClose={onClose}
      isDangerous={verb === 'discard'}
    >
      {verb === 'move' && (
        <>
          <label class="field">
            <span>{words.to}</span>
            <select value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
              {others.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={begun}
              onChange={(event) => setBegun(event.currentTarget.checked)}
            />
            <span>
              {words.begun} <span class="muted">{words.begunHint}</span>
            </span>
          </label>
        </>
      )}
    </JobsDialog>
  )
}

function Consequences({ plan, to }: { readonly plan: Plan; readonly to: string | undefined }) {
  const stay = [
    ...plan.unwanted.map(({ type, jobs }) => words.unwanted(formatCount(jobs), type, to ?? '')),
    ...(plan.begun > 0 ? [words.stayBegun(plan.begun)] : []),
  ]
  return (
    <>
      <dt>{words.will}</dt>
      <dd>{to === undefined ? words.willDiscard(plan.jobs) : words.willMove(plan.jobs, to)}</dd>
      {plan.types.length > 0 && <dd>{words.types(plan.types)}</dd>}
      <dt>{words.willNot}</dt>
      <dd>{to === undefined ? words.willNotDiscard : words.willNotMove}</dd>
      {stay.length > 0 && [
        <dt key="name" class="retrying">
          {words.stay}
        </dt>,
        ...stay.map((reason) => <dd key={reason}>{reason}</dd>),
      ]}
    </>
  )
}
