import type { ItemOf } from 'hookonce/client'
import { client, newKey } from '../../api.ts'
import { formatCount } from '../../format.ts'
import { State } from '../../parts/state.tsx'
import type { Column } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { texts } from '../../texts.ts'

/* Columns that the tables of destinations and subscribers share. */

const words = texts.destinations

interface Held {
  readonly waiting: number
  readonly circuit: ItemOf<'/destinations'>['circuit']
}

export const waitingColumn: Column<Held> = {
  name: 'waiting',
  title: words.columns.waiting,
  width: '76px',
  align: 'end',
  shown: 'wide',
  cell: ({ waiting }) => formatCount(waiting),
}

/**
 * Unless the circuit is closed, also shows when the next job is tried. A phone is too narrow for
 * that.
 */
export const circuitColumn: Column<Held> = {
  name: 'circuit',
  title: words.columns.circuit,
  width: 'var(--circuit)',
  cell: ({ circuit }) => {
    if (circuit === null) return <span class="faint">{words.noCircuit}</span>
    return (
      <span class="circuit" title={circuit.reason ?? undefined}>
        <State state={circuit.state} label={words.circuit[circuit.state]} />
        {circuit.nextProbeAt !== null && circuit.state === 'open' && (
          <span class="muted wide">
            · {words.probe} <Time at={circuit.nextProbeAt} />
          </span>
        )}
      </span>
    )
  },
}

/** Whether a probe of the circuit waits for its time. A resume would also end a pause. */
export function isProbeLater({ circuit }: Pick<Held, 'circuit'>, isPaused: boolean): boolean {
  return circuit?.state === 'open' && circuit.nextProbeAt !== null && !isPaused
}

export interface Hold {
  readonly verb: 'pause' | 'resume'
  readonly source: string
  readonly subscriber: string
  readonly tenant: string
  readonly why: string
}

export async function holdOrRelease({ verb, source, subscriber, tenant, why }: Hold): Promise<void> {
  const request = { params: { source, subscriber }, body: { why, tenant }, idempotencyKey: newKey() }
  if (verb === 'pause') await client.post('/subscribers/{source}/{subscriber}/pause', request)
  else await client.post('/subscribers/{source}/{subscriber}/resume', request)
}
