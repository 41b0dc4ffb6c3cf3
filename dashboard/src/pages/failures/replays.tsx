import type { ItemOf } from 'hookonce/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { canOperate, client } from '../../api.ts'
import { type Resource, useResource } from '../../data/resource.ts'
import { formatCount, formatDuration } from '../../format.ts'
import { CancelReplay } from '../../parts/cancel-replay.tsx'
import { ExpandTable, Fact, Facts } from '../../parts/expand-table.tsx'
import { State } from '../../parts/state.tsx'
import type { Column } from '../../parts/table.tsx'
import { now, Time } from '../../parts/time.tsx'
import { toast } from '../../shell/toasts.tsx'
import { texts } from '../../texts.ts'
import { millisecondsLeft, type ProgressSample, rateOf, resultOf } from './progress.ts'

const words = texts.failures.replays
const RUNNING_MS = 1_000
const SHOWN = 20
/** The rate is measured over the last few seconds. */
const READINGS = 8

export type Replay = ItemOf<'/replays'>
type List = Resource<{ readonly data: readonly Replay[] }>

/**
 * The replays of many jobs. While a replay runs, the list is read each second. A toast announces
 * its end.
 */
export function useReplays(onEnd: () => void): List {
  const list = useResource((signal) => client.get('/replays', { query: { limit: SHOWN }, signal }), [], {
    refreshMs: 5_000,
  })
  const running = useRef(new Set<string>())
  const replays = list.data?.data ?? []
  const isRunning = replays.some(({ state }) => state === 'running')
  useEffect(() => {
    const ended = replays.filter(({ id, state }) => state !== 'running' && running.current.has(id))
    running.current = new Set(replays.filter(({ state }) => state === 'running').map(({ id }) => id))
    for (const one of ended) toast(`${one.name}: ${resultOf(one)}`)
    if (ended.length > 0) onEnd()
  }, [list.data])
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(list.reload, RUNNING_MS)
    return () => clearInterval(timer)
  }, [isRunning])
  return list
}

export function Replays({ replays, part }: { readonly replays: List; readonly part: 'running' | 'ended' }) {
  const [cancelled, setCancelled] = useState<Replay>()
  const [openKey, setOpenKey] = useState<string>()
  const all = replays.data?.data ?? []
  const shown = all.filter(({ state }) => (state === 'running') === (part === 'running'))
  if (shown.length === 0) return null
  return (
    <>
      {part === 'running' ? (
        <section class="running" aria-label={words.running}>
          {shown.map((one) => (
            <Running key={one.id} replay={one} onCancel={() => setCancelled(one)} />
          ))}
        </section>
      ) : (
        <>
          <h2 class="section">{words.ended}</h2>
          <div class="card">
            <ExpandTable
              label={words.ended}
              columns={columns}
              items={shown}
              keyOf={({ id }) => id}
              openKey={openKey}
              onOpen={setOpenKey}
              detail={(replay) => <Ended replay={replay} />}
              hasKeys={false}
            />
          </div>
        </>
      )}
      {cancelled && (
        <CancelReplay replay={cancelled} onClose={() => setCancelled(undefined)} onDone={replays.reload} />
      )}
    </>
  )
}

function Running({ replay, onCancel }: { readonly replay: Replay; readonly onCancel: () => void }) {
  const readings = useRef<readonly ProgressSample[]>([])
  const { replayed, expected } = replay
  useEffect(() => {
    readings.current = [...readings.current, { at: Date.now(), replayed }].slice(-READINGS)
  }, [replay])
  const rate = rateOf([...readings.current, { at: now.value, replayed }])
  return (
    <div class="card replay">
      <div class="replay-head">
        <State state="running" label={words.runs} />
        <b class="cut">{replay.name}</b>
        {canOperate.value && (
          <button type="button" class="right" onClick={onCancel}>
            {words.cancel}
          </button>
        )}
      </div>
      <progress value={Math.min(replayed, expected)} max={Math.max(1, expected)} aria-label={replay.name} />
      <p class="muted">
        {words.progress(formatCount(replayed), formatCount(expected))} · {paceOf(replay, rate)}
      </p>
      <p class="faint">
        {replay.actor}: {replay.why} · <Time at={replay.createdAt} />
      </p>
    </div>
  )
}

/** The rate and remaining time, or the information that the replay has stalled. */
function paceOf(replay: Replay, rate: number | undefined): string {
  if (rate === 0) return words.standing
  const shown = (rate ?? replay.perSecond).toFixed(rate !== undefined && rate < 10 ? 1 : 0)
  const seconds = Math.ceil(millisecondsLeft(replay, rate) / 1_000)
  return `${words.rate(shown, replay.perSecond)} · ${words.left(formatDuration(seconds * 1_000))}`
}

/** The subject and the result of an ended replay. */
function Ended({ replay }: { readonly replay: Replay }) {
  const { filter, actor, why, perSecond, createdAt, endedAt } = replay
  return (
    <Facts>
      <Fact name={words.columns.result}>{resultOf(replay)}</Fact>
      <Fact name={words.facts.jobs}>
        <span class="ids">
          {Object.entries(filter).map(([name, value]) => (
            <span key={name}>
              <span class="muted">{words.filters[name] ?? name}</span> <code>{String(value)}</code>
            </span>
          ))}
        </span>
      </Fact>
      <Fact name={words.facts.rate}>{words.facts.atMost(perSecond)}</Fact>
      <Fact name={words.facts.why}>
        {why} <span class="muted">· {actor.replace(/^(env|local):/, '')}</span>
      </Fact>
      <Fact name={words.facts.started}>
        <Time at={createdAt} as="clock" />
      </Fact>
      {endedAt !== null && (
        <Fact name={words.columns.ended}>
          <Time at={endedAt} as="clock" />
        </Fact>
      )}
    </Facts>
  )
}

const columns: readonly Column<Replay>[] = [
  {
    name: 'state',
    title: words.columns.state,
    width: '92px',
    cell: ({ state }) => <State state={state} label={words.states[state]} />,
  },
  {
    name: 'name',
    title: words.columns.name,
    width: 'minmax(0, 1fr)',
    isLink: true,
    cell: ({ name }) => name,
  },
  {
    name: 'result',
    title: words.columns.result,
    width: 'minmax(0, 1.2fr)',
    shown: 'wide',
    cell: (replay) => (
      <span class="muted" title={resultOf(replay)}>
        {resultOf(replay)}
      </span>
    ),
  },
  {
    name: 'actor',
    title: words.columns.actor,
    width: '110px',
    shown: 'widest',
    cell: ({ actor }) => <span class="muted">{actor.replace(/^(env|local):/, '')}</span>,
  },
  {
    name: 'ended',
    title: words.columns.ended,
    width: '84px',
    align: 'end',
    cell: ({ endedAt, createdAt }) => (
      <span class="muted">
        <Time at={endedAt ?? createdAt} />
      </span>
    ),
  },
]
