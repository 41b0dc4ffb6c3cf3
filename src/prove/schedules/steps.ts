import type { RelatedType } from '../events.ts'

/* A schedule is data: it can be played, described, shortened and repeated. */

/** Names of deliveries that must be refused (`forge.ts`). */
export type BadDelivery = 'forged' | 'unsigned' | 'tampered' | 'rewritten' | 'outdated'

export type Step =
  /** Delivered until it is accepted. Several copies are sent at the same time. */
  | { readonly kind: 'deliver'; readonly event: number; readonly copies: number }
  /** The connection is closed after the request was sent. */
  | { readonly kind: 'lose-reply'; readonly event: number; readonly afterMs: number }
  | { readonly kind: 'settle' }
  | { readonly kind: 'slow-calls'; readonly ms: number }
  /** The receiver is killed while it is idle, and started again. */
  | { readonly kind: 'restart' }
  /** The receiver is killed while it is idle, and started again with its clock ahead. */
  | { readonly kind: 'clock-ahead'; readonly ms: number }
  /** The dates in the rows that the event inserted are moved back. */
  | { readonly kind: 'age-rows'; readonly ms: number }
  /**
   * The receiver is killed at a boundary and started again. The event is delivered again if it was
   * not accepted.
   */
  | { readonly kind: 'kill'; readonly event: number; readonly at: string }
  | { readonly kind: 'bad'; readonly what: BadDelivery }
  /** Genuine, in bytes that no common serialiser writes. */
  | { readonly kind: 'unusual-bytes' }

export const deliver = (event = 0, copies = 1): Step => ({ kind: 'deliver', event, copies })
export const settle: Step = { kind: 'settle' }
export const restart: Step = { kind: 'restart' }

export interface Schedule {
  /** The name for `--only`. */
  readonly name: string
  /** The fault of production that the schedule simulates. */
  readonly title: string
  /** How many events of one object it sends: one, or an older and a newer event. */
  readonly events: 1 | 2
  /** Each variant is played with fresh events. The first variant that fails is reported. */
  readonly variants: readonly (readonly Step[])[]
  /** The type of the second event, if it has another type. */
  readonly related?: RelatedType | undefined
  /** The reason why the schedule has no variants. */
  readonly reason?: string
}

const BAD: Readonly<Record<BadDelivery, string>> = {
  forged: 'send it with a forged signature',
  unsigned: 'send it without a signature',
  tampered: 'send it with a field added after it was signed',
  rewritten: 'send the same JSON in other bytes than those that were signed',
  outdated: 'send it with a genuine signature that is hours old',
}

/** A description of the steps for people, in order. */
export function describeSteps(steps: readonly Step[], eventNames: readonly string[]): string[] {
  const delivered = new Set<number>()
  return steps.flatMap((step) => {
    if (!('event' in step)) return describeOther(step)
    const name = eventNames.length === 1 ? 'the event' : `the ${eventNames[step.event]} event`
    const again = delivered.has(step.event) ? ' again' : ''
    delivered.add(step.event)
    return describeDelivery(step, name, again)
  })
}

type DeliveryStep = Extract<Step, { readonly event: number }>

function describeDelivery(step: DeliveryStep, name: string, again: string): string[] {
  if (step.kind === 'deliver')
    return [
      step.copies === 1
        ? `deliver ${name}${again}`
        : `deliver ${step.copies} copies of ${name} at once${again}`,
    ]
  if (step.kind === 'lose-reply')
    return [`deliver ${name}${again}, and close the connection ${step.afterMs} ms later: the reply is lost`]
  return [
    `deliver ${name}${again}; kill -9 the receiver ${step.at}`,
    `start it again; deliver ${name} again if it was not accepted`,
  ]
}

function describeOther(step: Exclude<Step, DeliveryStep>): string[] {
  if (step.kind === 'settle') return ['wait until nothing changes any more']
  if (step.kind === 'slow-calls') return [`let the downstream take ${step.ms} ms for each answer`]
  if (step.kind === 'clock-ahead')
    return [`kill -9 the receiver while it is idle, and start it with its clock ${hours(step)} h ahead`]
  if (step.kind === 'age-rows')
    return [`move the dates in the rows that the event inserted back by ${hours(step)} h`]
  if (step.kind === 'restart') return ['kill -9 the receiver while it is idle, and start it again']
  if (step.kind === 'bad') return [BAD[step.what]]
  return ['deliver it as indented JSON with escaped slashes, signed over these bytes']
}

function hours({ ms }: { readonly ms: number }): number {
  return ms / 3_600_000
}
