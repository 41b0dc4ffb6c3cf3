import { setTimeout as sleep } from 'node:timers/promises'
import { type Change, withoutRepeats } from './changes.ts'
import { type EventMaker, freshEvent, freshPair, type ProvedEvent, signedDelivery } from './events.ts'
import { type Forgery, forged, outdated, rewritten, tampered, unsigned, unusualBytes } from './forge.ts'
import type { PastPlay } from './late.ts'
import type { ReceiverProcess } from './receiver-process.ts'
import type { BadDelivery, Schedule, Step } from './schedules/steps.ts'
import { type Answer, answerText, isAccepted, send, sendAndLoseReply, sendUntilAccepted } from './send.ts'
import { type Patience, type Watch, type Watchers, watch } from './watch/watch.ts'

/** The input of a schedule. */
export interface Stage {
  readonly url: URL
  readonly maker: EventMaker
  readonly watchers: Watchers
  readonly patience: Patience
  readonly receiver: ReceiverProcess | undefined
  /** A statement that creates the rows that the handler expects; `$1` is the id of the object. */
  readonly prepare: string | undefined
  /** Whether the prover may move the dates of rows. */
  readonly mayAgeRows: boolean
}

/** The observations of one play. */
export interface Play {
  readonly changes: readonly Change[]
  /** Calls that repeated an Idempotency-Key. */
  readonly repeated: number
  /** A genuine delivery that was never accepted. */
  readonly refused: string | undefined
  /** A bad delivery that had an effect, or was accepted although effects cannot be observed. */
  readonly acceptedBad: string | undefined
  /** The reason why the schedule could not be played. */
  readonly impossible: string | undefined
  readonly notes: readonly string[]
  readonly boundaries: readonly string[]
  readonly lagMs: number
  /**
   * The receiver died with accepted work: the remaining effects may follow long after its restart.
   */
  readonly owesWork: boolean
  /** Collects late effects. */
  readonly past: PastPlay
}

const FORGERIES: Readonly<Record<BadDelivery, Forgery>> = { forged, unsigned, tampered, rewritten, outdated }

const NOT_SIGNED: Readonly<Record<BadDelivery, string>> = {
  forged: 'the signature of this provider is inside the body',
  unsigned: 'the signature of this provider is not in a header',
  tampered: 'this provider does not sign the body',
  rewritten: 'this provider does not sign the bytes of a JSON body',
  outdated: 'this provider does not sign a date',
}

export function freshEvents(
  { maker }: Stage,
  { events, related }: Pick<Schedule, 'events' | 'related'>,
): readonly ProvedEvent[] {
  return events === 1 ? [freshEvent(maker)] : freshPair(maker, related)
}

/** Plays the steps with these events, and waits for their effects. */
export async function play(
  stage: Stage,
  steps: readonly Step[],
  events: readonly ProvedEvent[],
  isMissing?: (changes: readonly Change[]) => boolean,
): Promise<Play> {
  const { url, maker, watchers, receiver, prepare } = stage
  const [first] = events
  if (prepare !== undefined && first) await watchers.rows?.prepare(prepare, first.objectId)
  const watching = await watch(watchers, stage.patience, events)
  watchers.boundaries.begin()
  const notes: string[] = []
  let refused: string | undefined
  let acceptedBad: string | undefined
  let impossible: string | undefined
  let owesWork = false
  let aheadMs = 0

  const sign = (index: number) => () =>
    signedDelivery(maker, events[index] ?? freshEvent(maker), Date.now() + aheadMs)
  const note = (answer: Answer): void => {
    if (!isAccepted(answer)) refused ??= answerText(answer)
  }

  async function perform(step: Step): Promise<void> {
    switch (step.kind) {
      case 'deliver': {
        const answers = await Promise.all(
          Array.from({ length: step.copies }, () => send(url, sign(step.event)())),
        )
        // The provider resends events that were not accepted.
        for (const answer of answers) if (!isAccepted(answer)) note(await resend(step.event))
        return
      }
      case 'lose-reply':
        return sendAndLoseReply(url, sign(step.event)(), step.afterMs)
      case 'settle':
        return void (await watching.settled())
      case 'slow-calls':
        return watchers.calls?.delay(step.ms)
      case 'restart':
        await receiver?.killAndWait()
        return receiver?.start()
      case 'clock-ahead':
        return startAhead(step.ms)
      case 'age-rows':
        impossible = await watching.ageRows(step.ms)
        return
      case 'kill':
        return killAt(step)
      case 'bad':
        return sendBad(step.what)
      case 'unusual-bytes': {
        const delivery = first && unusualBytes(maker, first)
        if (!delivery) impossible = 'this provider does not sign the bytes of a JSON body'
        else note(await sendUntilAccepted(url, () => delivery))
      }
    }
  }

  async function resend(event: number): Promise<Answer> {
    const answer = await sendUntilAccepted(url, sign(event))
    if (isAccepted(answer) || aheadMs === 0) return answer
    // The receiver may compare the date with the clock of its database, which has not moved.
    aheadMs = 0
    return sendUntilAccepted(url, sign(event))
  }

  async function startAhead(ms: number): Promise<void> {
    await receiver?.killAndWait()
    aheadMs = ms
    impossible = await receiver?.startAhead(ms)
  }

  async function killAt({ event, at }: Step & { kind: 'kill' }): Promise<void> {
    const { boundaries } = watchers
    boundaries.begin(at)
    const answered = send(url, sign(event)())
    const wasKilled = await reached(boundaries.killed, answered)
    const answer = await answered
    if (!wasKilled) {
      boundaries.begin()
      impossible ??= 'this time the delivery did not reach the boundary'
      return
    }
    await receiver?.killAndWait()
    boundaries.begin()
    await receiver?.start()
    // A provider does not resend accepted events, so the receiver must finish them without another
    // delivery.
    owesWork = isAccepted(answer)
    if (owesWork) notes.push('it had accepted the event before it died, so it was not delivered again')
    else note(await sendUntilAccepted(url, sign(event)))
  }

  /**
   * The work may continue after the reply, so the prover waits a little longer for the boundary.
   */
  async function reached(killed: Promise<void>, answered: Promise<Answer>): Promise<boolean> {
    const late = answered.then(() => sleep(stage.patience.quietMs * 2)).then(() => false)
    return Promise.race([killed.then(() => true), late])
  }

  async function sendBad(what: BadDelivery): Promise<void> {
    const delivery = first && FORGERIES[what](maker, first)
    if (!delivery) {
      impossible = NOT_SIGNED[what]
      return
    }
    const answer = await send(url, delivery)
    const changes = await watching.settled()
    const canSee = watchers.rows !== undefined || watchers.calls !== undefined
    if (changes.length > 0 || (isAccepted(answer) && !canSee)) acceptedBad = answerText(answer)
    else if (isAccepted(answer))
      notes.push(`it was answered with ${answerText(answer)}, but had no effect; answer 401`)
  }

  for (const step of steps) {
    await perform(step)
    if (impossible !== undefined || acceptedBad !== undefined) break
  }
  const all = await outcome(watching)
  if (steps.some(({ kind }) => kind === 'clock-ahead')) {
    await receiver?.killAndWait()
    await receiver?.start()
  }
  return {
    ...withoutRepeats(all),
    past: watching.end(all),
    owesWork,
    refused,
    acceptedBad,
    impossible,
    notes,
    boundaries: [...watchers.boundaries.reached],
    lagMs: watching.lagMs,
  }

  async function outcome(watched: Watch): Promise<Change[]> {
    // Does not wait if the result is already certain.
    const isDecided = impossible !== undefined || acceptedBad !== undefined || refused !== undefined
    return watched.settled(
      isDecided ? undefined : isMissing && ((changes) => isMissing(withoutRepeats(changes).changes)),
    )
  }
}
