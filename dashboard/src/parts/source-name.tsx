import { colourOf } from './state.tsx'

export interface SourceNameProps {
  readonly source: string
  readonly tenant: string
  readonly health: string
  /** The fault in one word. Empty: the source has no fault. */
  readonly fault: string
}

/** A source with the colour of its health. The fault comes last, so that names are aligned. */
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
