import { Failure, Skeleton } from './feedback.tsx'

export interface WaitingProps {
  readonly error: unknown
  readonly rows?: number
  readonly reload: () => void
}

/** A card whose data is loading, or could not be read. */
export function Waiting({ error, rows = 4, reload }: WaitingProps) {
  return (
    <div class="card">
      {error === undefined ? <Skeleton rows={rows} /> : <Failure error={error} onRetry={reload} />}
    </div>
  )
}
