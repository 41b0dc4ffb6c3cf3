import { colourOf } from './state.tsx'

export interface SourceNameProps {
  readonly source: string
  readonly tenant: string
  readonly health: string
  /** What is wrong, in a word. Empty: nothing is. */
  readonly fault: string
}

/** A source with the colour of its health. Names begin in one line, so the fault comes last. */
export function SourceName({ source, tenant, health, fault }: SourceNameProps) {
  return (
    <span class={`pill plain ${colourOf(health)}`}>
      <span class="named cut">
        {source}
        {tenant !== 'default' && <span class="muted"> · {tenant}</span>}
        {fault !== '' && <span class="fault-word"> · {fault}</span>}
      </span>
    </span>
  )
}
