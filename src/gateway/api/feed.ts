import { setTimeout as delay } from 'node:timers/promises'
import { HookonceError } from '../../model/errors.ts'
import { type Change, watchChanges } from '../../operate/changes.ts'
import type { Ledgers } from '../../operate/tables.ts'
import type { LiveBody } from './reply.ts'

/*
 * Server-sent events about changes. The process polls the ledger at the same rate for any number of
 * clients, and not at all without clients. Clients, buffers and durations are bounded.
 */

export interface Feed {
  /** Changes as server-sent events, until the client disconnects or the stream ends. */
  open(client: FeedClient): LiveBody
  close(): void
}

export interface FeedClient {
  /** The only tenant whose changes the client gets. Undefined: all tenants. */
  readonly tenant: string | undefined
  /** The id of the last event that the client received. */
  readonly lastId: string | undefined
  /** Whether the client may still read the stream: its token may have been revoked. */
  isAllowed(): Promise<boolean>
}

/** A change is sent at most this long after its commit, plus the duration of a poll. */
const LOOK_EVERY_MS = 500
/**
 * Changes per poll. If there are more, the newest are sent, after a change of the kind `skipped`.
 */
const MAX_PER_LOOK = 1_000
/** Changes that are kept for clients that reconnect. */
const MAX_KEPT = 2 * MAX_PER_LOOK
/**
 * The number of changes that may wait for a slow client. Beyond it the client is disconnected, and
 * reconnects with its last id.
 */
const MAX_WAITING = 4 * MAX_PER_LOOK
const MAX_CLIENTS = 50
/** Proxies close connections without traffic after a minute. */
const HEARTBEAT_MS = 15_000
/** After this time the client reconnects. */
const MAX_STREAM_MS = 5 * 60_000
/** The interval at which the access of the clients is checked. */
const CHECK_EVERY_MS = 2_000
/**
 * A finished stream ends with its last event. A client that does not read it within this time is
 * disconnected.
 */
const CUT_AFTER_MS = 1_000
/** A client that was disconnected for longer should read its lists again. */
const MAX_AWAY_MS = 60 * 60_000

/**
 * Tolerated clock difference between this process and the ledger. Changes may be sent twice, but
 * none is lost.
 */
const CLOCKS_APART_MS = 5_000

interface Sent {
  readonly id: string
  readonly tenant: string | undefined
  readonly text: string
}

interface Client extends FeedClient {
  readonly waiting: string[]
  readonly cut: AbortController
  ring: () => void
  isOver: boolean
}

export function changeFeed(ledger: () => Promise<Ledgers>, onTrouble: (error: unknown) => void): Feed {
  const clients = new Set<Client>()
  let kept: Sent[] = []
  let watch: ReturnType<typeof watchChanges> | undefined
  /** The position at which a new watch begins. */
  let lookedAt: Date | undefined
  let poll: Promise<void> | undefined
  let checkedAt = performance.now()
  let number = 0

  /**
   * Ids increase, even across restarts: an id is the time, then a number among the changes of one
   * poll.
   */
  function nextId(): string {
    number += 1
    return `${Date.now()}-${number}`
  }

  function send(changes: readonly Change[]): void {
    const skips = changes.length > MAX_PER_LOOK ? [skipped()] : []
    const sent = [...skips, ...changes.slice(-MAX_PER_LOOK)].map((change) => sentOf(nextId(), change))
    kept = [...kept, ...sent].slice(-MAX_KEPT)
    for (const client of clients) for (const one of sent) give(client, one)
  }

  function give(client: Client, sent: Sent): void {
    if (!isFor(client.tenant, sent)) return
    if (client.waiting.length >= MAX_WAITING) return end(client)
    client.waiting.push(sent.text)
    client.ring()
  }

  /** Frees the place of the client at once, whether or not it still reads. */
  function end(client: Client): void {
    if (client.isOver) return
    client.isOver = true
    clients.delete(client)
    client.ring()
    setTimeout(() => client.cut.abort(), CUT_AFTER_MS).unref()
  }

  /** Ends the streams of clients whose token or session has ended. */
  async function checkClients(): Promise<void> {
    if (performance.now() - checkedAt < CHECK_EVERY_MS) return
    for (const client of clients) {
      try {
        if (!(await client.isAllowed())) end(client)
      } catch (error) {
        // Access is unknown while the ledger cannot be read. There is nothing to send meanwhile
        // either.
        onTrouble(error)
      }
    }
    checkedAt = performance.now()
  }

  async function look(): Promise<void> {
    const startedAt = Date.now()
    try {
      watch ??= watchChanges(await ledger(), { since: lookedAt })
      send(await watch.look())
      lookedAt = new Date(startedAt - CLOCKS_APART_MS)
    } catch (error) {
      // A reload has closed the connections of this ledger. The next poll uses the new connections.
      watch = undefined
      onTrouble(error)
    }
  }

  /**
   * Polls while there are clients. Without clients there is no watch: the next client starts a new
   * one.
   */
  async function lookOn(): Promise<void> {
    while (clients.size > 0) {
      await delay(LOOK_EVERY_MS, undefined, { ref: false })
      await checkClients()
      if (clients.size > 0) await look()
    }
    watch = undefined
    lookedAt = undefined
    kept = []
    poll = undefined
  }

  /** Resolves after the first poll, which finds everything that is committed from then on. */
  function begin(): Promise<void> {
    poll ??= look().finally(() => void lookOn())
    return poll
  }

  /** The changes that a reconnecting client has missed. */
  async function missed({ tenant, lastId }: FeedClient): Promise<string[]> {
    if (lastId === undefined) return []
    const place = kept.findIndex(({ id }) => id === lastId)
    if (place >= 0)
      return kept
        .slice(place + 1)
        .filter((one) => isFor(tenant, one))
        .map(({ text }) => text)
    const since = Number(/^(\d{13})-\d+$/.exec(lastId)?.[1] ?? 0) - CLOCKS_APART_MS
    const reset = sentOf(nextId(), skipped())
    if (since < Date.now() - MAX_AWAY_MS) return [reset.text]
    // The id is from another process, or older than the kept changes. Reads from the ledger, which
    // repeats some changes.
    const changes = await watchChanges(await ledger(), { since: new Date(since) }).look()
    const skips = changes.length > MAX_PER_LOOK ? [skipped()] : []
    const sent = [...skips, ...changes.slice(-MAX_PER_LOOK)].map((change) => sentOf(nextId(), change))
    return sent.filter((one) => isFor(tenant, one)).map(({ text }) => text)
  }

  async function* stream(client: Client): AsyncGenerator<string> {
    if (client.isOver) return
    const over = setTimeout(() => end(client), MAX_STREAM_MS).unref()
    clients.add(client)
    try {
      await begin()
      // A client without an id starts at the present. `retry` is its delay before it reconnects.
      yield `retry: 1000\nid: ${client.lastId ?? nextId()}\ndata: {"type":"open"}\n\n`
      for (const text of await missed(client)) yield text
      while (!client.isOver) {
        const text = client.waiting.splice(0).join('')
        if (text !== '') {
          yield text
          continue
        }
        if (!(await rung(client))) yield ': still here\n\n'
      }
    } finally {
      clearTimeout(over)
      end(client)
    }
  }

  return {
    open(given) {
      if (clients.size >= MAX_CLIENTS)
        throw new HookonceError('OVERLOADED', `${MAX_CLIENTS} clients are connected to the stream`)
      const cut = new AbortController()
      const client: Client = { ...given, waiting: [], cut, ring: () => undefined, isOver: false }
      return { texts: stream(client), end: () => end(client), cut: cut.signal }
    },
    close() {
      for (const client of clients) end(client)
    },
  }
}

function skipped(): Change {
  return { type: 'skipped', tenant: undefined, at: new Date() }
}

function sentOf(id: string, change: Change): Sent {
  const { tenant, ...shown } = change
  const data = JSON.stringify(tenant === undefined ? shown : { tenant, ...shown })
  return { id, tenant, text: `id: ${id}\nevent: ${change.type}\ndata: ${data}\n\n` }
}

/** Changes without a tenant concern the whole ledger. `skipped` is an exception. */
function isFor(tenant: string | undefined, { tenant: owner, text }: Sent): boolean {
  return tenant === undefined || tenant === owner || text.includes('\nevent: skipped\n')
}

/** Waits for the next change. False: no change came in time. */
function rung(client: Client): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => done(false), HEARTBEAT_MS)
    function done(isRung: boolean): void {
      clearTimeout(timer)
      client.ring = () => undefined
      resolve(isRung)
    }
    client.ring = () => done(true)
  })
}
