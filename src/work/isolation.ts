import { bell } from './bell.ts'

/**
 * Lets a suspect run while nothing else runs in this process, so that a death of the process is the
 * suspect's doing. Every stage that runs work of others joins, and starts nothing while it is
 * closed.
 */
export interface Isolation {
  /** A suspect runs alone, or waits until what is in flight has ended. */
  readonly isClosed: boolean
  join(member: Member): void
  /** Something in flight has ended. */
  changed(): void
  /** How long what is in flight may take to end before the suspect is put off. */
  readonly waitMs: number
  /**
   * Runs `work` alone. It is not run if others did not end in time, or `signal` is aborted
   * meanwhile.
   */
  alone(work: () => Promise<void>, signal: AbortSignal): Promise<void>
}

export interface Member {
  isIdle(): boolean
  /** Work may be started again. */
  onOpen(): void
}

/** An abort is noticed within this time. */
const LOOK_EVERY_MS = 250

export function isolation(waitMs: number): Isolation {
  const members: Member[] = []
  const idle = bell()
  let isClosed = false

  async function areAllIdle(signal: AbortSignal): Promise<boolean> {
    const end = performance.now() + waitMs
    while (!members.every((member) => member.isIdle())) {
      if (signal.aborted || performance.now() >= end) return false
      idle.reset()
      await idle.wait(LOOK_EVERY_MS)
    }
    return !signal.aborted
  }

  return {
    get isClosed() {
      return isClosed
    },
    join(member) {
      members.push(member)
    },
    changed: () => idle.ring(),
    waitMs,
    async alone(work, signal) {
      if (isClosed) return
      isClosed = true
      try {
        if (await areAllIdle(signal)) await work()
      } finally {
        isClosed = false
        for (const member of members) member.onOpen()
      }
    },
  }
}
