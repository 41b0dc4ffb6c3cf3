import { createHash, randomUUID } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { HookonceError } from '../../model/errors.ts'
import { prepareDir, usingDir } from '../local-secret.ts'

/*
 * The position of a `listen`: the time of its last event by the ledger's clock, and the events that
 * it sent shortly before. A commit dates its rows when it begins, so an event may appear in the
 * list after a later one. So the last seconds are listed again, without the known events.
 */

export interface Handled {
  readonly id: string
  readonly receivedAt: string
}

export interface Position {
  readonly file: string
  /** Whether the file of an earlier run was found. */
  readonly isResumed: boolean
  /** False: `note` or `startAt` must set the position first. */
  isSet(): boolean
  /** The time from which events are to be listed. */
  listFrom(): Date
  knows(id: string): boolean
  /** Starts at this time, and forgets the known events. */
  startAt(time: Date): void
  /** Records that the event needs no further attempt. */
  note(event: Handled): void
  /** Records that all events up to this time are handled. */
  advance(time: Date): void
  save(): void
}

/** Longer than any commit of the gateway. */
const OVERLAP_MS = 10_000
/**
 * The number of known events within the overlap. Beyond it the oldest are forgotten, and may be
 * sent again.
 */
const MAX_KNOWN = 50_000
/**
 * Each save writes the whole file. After a crash, the events since the last save are sent again.
 */
const SAVE_EVERY_MS = 100

const stored = z.strictObject({
  time: z.iso.datetime(),
  known: z.array(z.tuple([z.string(), z.number()])).max(MAX_KNOWN),
})

/** `what` identifies this listener: the gateway, the target and the filters. */
export function openPosition(dir: string, what: unknown): Position {
  const hash = createHash('sha256').update(JSON.stringify(what)).digest('hex').slice(0, 16)
  const file = join(dir, `listen-${hash}.json`)
  prepareDir(dir)
  const found = readStored(file)
  const known = new Map(found?.known)
  let timeMs = found ? Date.parse(found.time) : undefined
  let savedAt = 0

  function moveTo(time: number): void {
    timeMs = Math.max(timeMs ?? 0, time)
    for (const [id, at] of known) if (at < timeMs - OVERLAP_MS || known.size > MAX_KNOWN) known.delete(id)
  }

  function save(): void {
    savedAt = performance.now()
    const text = JSON.stringify({ time: new Date(timeMs ?? 0).toISOString(), known: [...known] })
    const next = `${file}.${randomUUID()}`
    usingDir(dir, () => {
      // A rename replaces a symbolic link instead of following it.
      writeFileSync(next, `${text}\n`, { flag: 'wx', mode: 0o600 })
      renameSync(next, file)
    })
  }

  return {
    file,
    isResumed: found !== undefined,
    isSet: () => timeMs !== undefined,
    listFrom: () => new Date(Math.max(0, (timeMs ?? 0) - OVERLAP_MS)),
    knows: (id) => known.has(id),
    startAt(time) {
      known.clear()
      timeMs = time.getTime() + OVERLAP_MS
    },
    note({ id, receivedAt }) {
      const at = Date.parse(receivedAt)
      known.set(id, at)
      moveTo(at)
      if (performance.now() - savedAt >= SAVE_EVERY_MS) save()
    },
    advance: (time) => moveTo(time.getTime()),
    save,
  }
}

function readStored(file: string): z.infer<typeof stored> | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new HookonceError('CONFIG_INVALID', `${file} cannot be read; remove it to start with new events`, {
      cause: error,
    })
  }
  try {
    return stored.parse(JSON.parse(text))
  } catch (error) {
    throw new HookonceError('CONFIG_INVALID', `${file} is damaged; remove it to start with new events`, {
      cause: error,
    })
  }
}
