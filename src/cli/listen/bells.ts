import type { AdminClient } from '../../client/index.ts'
import { ask, GatewayAway } from './gateway-calls.ts'

/*
 * Turns the stream of the gateway into notifications that the list of events has changed. The list
 * alone provides events, so no event is lost if the stream skips a change or breaks off.
 */

export interface Bell {
  /** When the latest announced event was received, by the clock of the ledger. */
  readonly latest: Date | undefined
}

/**
 * The gateway sends a heartbeat every 15 seconds. A connection that is silent for longer is dead.
 */
const SILENT_MS = 45_000
/** Far longer than any entry of the gateway's stream. */
const MAX_BLOCK_CHARS = 1_000_000

/**
 * Notifies when the stream is open, and after each batch of recorded events. While the caller
 * handles a notification, nothing is read: the gateway disconnects a client that is too slow, and
 * the caller connects again. Ends when the gateway ends the stream.
 */
export async function* bells(client: AdminClient, from: string, stop: AbortSignal): AsyncGenerator<Bell> {
  const response = await ask(from, () => client.get('/stream', { signal: stop }))
  const reader = response.body?.getReader()
  if (reader === undefined) throw new GatewayAway(`${from} sent an empty stream`)
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await ask(from, () => readWithin(reader, SILENT_MS))
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      if (rest.length > MAX_BLOCK_CHARS) throw new GatewayAway(`${from} sent a change that is too long`)
      const rung = blocks.filter((block) => /^event: (recorded|skipped)$/m.test(block) || isOpening(block))
      if (rung.length > 0) yield { latest: latestOf(rung) }
    }
  } finally {
    // The connection may be broken already. Then there is nothing to cancel.
    await reader.cancel().catch(() => undefined)
  }
}

function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silentMs: number,
): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }> {
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), silentMs)
  return reader.read().finally(() => clearTimeout(timer))
}

function isOpening(block: string): boolean {
  return block.includes('data: {"type":"open"}')
}

function latestOf(blocks: readonly string[]): Date | undefined {
  const times = blocks
    .filter((block) => /^event: recorded$/m.test(block))
    .map((block) => Date.parse(/^data: .*"at":"([^"]+)"/m.exec(block)?.[1] ?? ''))
    .filter((time) => !Number.isNaN(time))
  return times.length === 0 ? undefined : new Date(Math.max(...times))
}
