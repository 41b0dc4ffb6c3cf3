import type { World } from './world.ts'

/** What a run is to reach. Without a number of faults it ends at a time. */
export interface Goals {
  readonly deliveries: number
  readonly events: number
  readonly faults: number
  /** Ends the run at this time instead. */
  readonly minutes?: number | undefined
}

/** When the senders may send, and when all goals are reached. */
export interface Pace {
  /** Whether a new event may be sent. */
  mayBegin(): boolean
  /** Whether an old event may be sent again. */
  mayStorm(): boolean
  /** All goals are reached, or the time is up. */
  isOver(): boolean
  /** Whether the deliveries should be further, judged by the faults. */
  isBehind(): boolean
  /** Counts a fault when the returned function is called. */
  begin(fault: string): () => void
  /** How many faults are healed. */
  readonly faults: number
  /** The faults that are not. */
  readonly underWay: ReadonlySet<string>
}

/** More waiting jobs than these only take longer to come to rest. */
const MOST_WAITING = 500
/** Without a goal of deliveries. */
const STORMS_PER_SECOND = 400
/** A fault may last so many times as long as the others until the senders wait for its end. */
const LONG_FAULT = 4
/** Until the first fault is over. */
const FIRST_FAULT_MS = 2_000

interface Backlog {
  /** Jobs that wait for a worker. */
  readonly jobs: number
}

/**
 * Spreads events and deliveries over the time that the faults take, as far as it can be foreseen, so
 * that each fault meets both.
 */
export function paceOf({ deliveries, events, faults, minutes }: Goals, world: World, backlog: Backlog): Pace {
  const { history } = world
  let done = 0
  let lastMs = 0
  const underWay = new Set<string>()

  /** How much of the run should be over by now, judged by its faults; above 1 when it is late. */
  function share(): number {
    const perFaultMs = done === 0 ? FIRST_FAULT_MS : Math.max(1, lastMs / done)
    return (done + Math.min(LONG_FAULT, (history.now() - lastMs) / perFaultMs)) / faults
  }

  const isTimed = minutes !== undefined
  return {
    mayBegin: () => backlog.jobs < MOST_WAITING && (isTimed || world.newest < events * share()),
    mayStorm: () =>
      history.count('delivery') <
      (isTimed ? (history.now() * STORMS_PER_SECOND) / 1_000 : deliveries * share()),
    isOver: () =>
      isTimed
        ? history.now() > minutes * 60_000
        : done >= faults && world.newest >= events && history.count('delivery') >= deliveries,
    isBehind: () => !isTimed && history.count('delivery') < deliveries * Math.min(1, done / faults),
    begin(fault) {
      underWay.add(fault)
      return () => {
        underWay.delete(fault)
        done += 1
        lastMs = history.now()
      }
    },
    underWay,
    get faults() {
      return done
    },
  }
}
