import { client } from '../../api.ts'
import type { Chain } from './timeline.ts'

/** The chain with headers and results of effects. Each view is recorded in the audit. */
export function readPayloads(id: string, signal?: AbortSignal): Promise<Chain> {
  return client.get('/events/{id}', {
    params: { id },
    query: { payloads: true },
    ...(signal ? { signal } : {}),
  })
}
