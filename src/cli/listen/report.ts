import { print, safe } from '../print.ts'

/* The output of `listen`: one line per attempt, lines about the connection, and a summary. */

export interface ListedEvent {
  readonly id: string
  readonly receivedAt: string
  readonly source: string
  readonly eventType: string
  readonly eventKey: string
}

/**
 * `refused`: 3xx or 4xx. `failed`: no attempt was answered. `skipped`: its content no longer
 * exists.
 */
export type Outcome = 'delivered' | 'refused' | 'failed' | 'skipped'

export interface Attempt {
  readonly event: ListedEvent
  readonly number: number
  readonly outcome: Outcome | 'retry'
  readonly status?: number
  readonly error?: string
  readonly ms: number
  /** Undefined: this was the last attempt. */
  readonly retryInMs: number | undefined
}

export interface Start {
  readonly from: string
  readonly to: string
  /** Undefined: events are followed from now on. */
  readonly since: Date | undefined
  readonly isResumed: boolean
  readonly file: string
}

export interface Report {
  ready(start: Start): void
  attempt(attempt: Attempt): void
  skipped(event: ListedEvent, reason: string): void
  lost(reason: string, retryInMs: number): void
  restored(): void
  summary(): void
}

export function reporter(isJson: boolean): Report {
  const counts: Record<Outcome | 'retry', number> = {
    delivered: 0,
    refused: 0,
    failed: 0,
    skipped: 0,
    retry: 0,
  }
  const line = (json: object, text: string): void =>
    print(isJson ? JSON.stringify(json) : text.split('\n').map(safe).join('\n'))

  return {
    ready({ from, to, since, isResumed, file }) {
      const begin = since ? `from ${since.toISOString()}` : 'from now on'
      line(
        { ready: true, from, to, since: since ?? null, resumed: isResumed, file },
        `listening to ${from} for ${to}, ${isResumed ? 'where it stopped: ' : ''}${begin}\nCtrl-C ends it. The next start continues where it stopped (${file}); --since 0s starts from now.`,
      )
    },
    attempt({ event, number, outcome, status, error, ms, retryInMs }) {
      counts[outcome] += 1
      const { id: receiptId, source, eventType, eventKey } = event
      const next = { retry: `again in ${seconds(retryInMs ?? 0)}`, failed: 'given up' } as const
      const what = outcome === 'retry' || outcome === 'failed' ? `attempt ${number}, ${next[outcome]}` : ''
      line(
        {
          at: new Date(),
          receiptId,
          source,
          eventType,
          eventKey,
          outcome,
          attempt: number,
          status,
          error,
          ms,
          retryInMs,
        },
        columns(event, String(status ?? 'ERR'), `${ms} ms`, error ?? '', what),
      )
    },
    skipped(event, reason) {
      counts.skipped += 1
      const { id: receiptId, source, eventType, eventKey } = event
      line(
        { at: new Date(), receiptId, source, eventType, eventKey, outcome: 'skipped', reason },
        columns(event, 'skipped', reason),
      )
    },
    lost(reason, retryInMs) {
      line(
        { connection: 'lost', reason, retryInMs },
        `${time()}  ${reason}; reconnects in ${seconds(retryInMs)}`,
      )
    },
    restored() {
      line({ connection: 'restored' }, `${time()}  reconnected`)
    },
    summary() {
      const { retry: retries, ...ended } = counts
      const parts = Object.entries({ ...ended, retries }).filter(
        ([name, count]) => count > 0 || name === 'delivered',
      )
      line({ summary: { ...ended, retries } }, parts.map(([name, count]) => `${count} ${name}`).join(', '))
    },
  }
}

function columns({ source, eventType, eventKey }: ListedEvent, ...rest: readonly string[]): string {
  return [time(), source, eventType, eventKey, ...rest].filter((part) => part !== '').join('  ')
}

function time(): string {
  return new Date().toTimeString().slice(0, 8)
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`
}
