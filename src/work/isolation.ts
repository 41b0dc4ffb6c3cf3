import { bell } from './bell.ts'

/**
 * Lets a suspect run while nothing else runs in this process: if the process then dies, the suspect
 * killed it. Every stage that runs handlers or publishers checks this gate, and starts nothing
 * while the gate is closed.
 */
export interface Isolation {
  /**
   * Whether the gate is closed: a suspect runs alone, or waits until everything in flight has
   * ended.
   */
  readonly isClosed: boolean
  join(member: Member): void
  /** A run in flight has ended. */
  changed(): void
  /** How long work in flight may take to end before the suspect is postponed. */
  readonly waitMs: number
  /**
   * Runs `work` alone. Does not run it if other runs do not end in time, or `signal` is aborted.
   */
  alone(work: () => Promise<void>, signal: AbortSignal): Promise<void>
}

export interface Member {
  isIdle(): boolean
  /** Called when work may be started again. */
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
