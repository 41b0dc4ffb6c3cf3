import type { ComponentChildren } from 'preact'
import { explain } from '../api.ts'
import { texts } from '../texts.ts'
import { Command } from './copy.tsx'

export interface EmptyProps {
  readonly title: string
  readonly children?: ComponentChildren
  /** The exact command for the next step. */
  readonly command?: string
}

/** An empty list: the reason, and the next step. */
export function Empty({ title, children, command }: EmptyProps) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {command !== undefined && <Command text={command} />}
    </div>
  )
}

/** Shown if data could not be read. */
export function Failure({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  return (
    <div class="empty" role="alert">
      <h2>{texts.errors.title}</h2>
      <p>{explain(error)}</p>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {texts.errors.retry}
        </button>
      )}
    </div>
  )
}

/** Placeholders for rows that are loading. */
export function Skeleton({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div class="skeleton" role="status" aria-label={texts.loading}>
      {Array.from({ length: rows }, (_, row) => (
        <div key={row}>
          <i />
        </div>
      ))}
    </div>
  )
}
