import type { EventFilter } from '../operate/events.ts'
import { type Command, parseTime } from './command.ts'

/** Options by which `events` and `failures` choose what they list. */
export const filterOptions = {
  source: { type: 'string' },
  subscriber: { type: 'string' },
  type: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
} as const

interface FilterValues {
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
  readonly type?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

export function parseFilter(
  command: Pick<Command, 'usage'>,
  { source, subscriber, type, since, until }: FilterValues,
): Omit<EventFilter, 'tenant' | 'state'> {
  return {
    source,
    subscriber,
    type,
    since: since === undefined ? undefined : parseTime(command, since),
    until: until === undefined ? undefined : parseTime(command, until),
  }
}
