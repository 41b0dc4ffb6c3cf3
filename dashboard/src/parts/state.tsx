import { texts } from '../texts.ts'

/** Each state has the same colour on all pages. */
const COLOURS: Readonly<Record<string, string>> = {
  processed: 'processed',
  done: 'processed',
  published: 'processed',
  ok: 'processed',
  closed: 'processed',
  processing: 'processing',
  started: 'processing',
  running: 'processing',
  publishing: 'processing',
  retrying: 'retrying',
  'half-open': 'retrying',
  unattended: 'retrying',
  failed: 'failed',
  failing: 'failed',
  crashed: 'failed',
  open: 'failed',
  attention: 'attention',
  unknown: 'attention',
  // Nothing happened, and nothing has to happen.
  stale: 'neutral',
  moved: 'neutral',
  imported: 'neutral',
  ignored: 'neutral',
}

export function colourOf(state: string): string {
  return COLOURS[state] ?? 'neutral'
}

export interface StateProps {
  readonly state: string
  /** Replaces the name of the state. */
  readonly label?: string
  readonly isPlain?: boolean
}

export function State({ state, label, isPlain = false }: StateProps) {
  return (
    <span class={`pill ${colourOf(state)}${isPlain ? ' plain' : ''}`}>
      {label ?? texts.states[state] ?? state}
    </span>
  )
}
