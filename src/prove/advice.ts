import type { Fault } from './judge.ts'
import { faultsOf, type ScheduleResult } from './result.ts'

/** The usual cause of a fault in a schedule, and its fix, in one sentence. */
export function adviceFor(result: ScheduleResult): string | undefined {
  const [fault] = faultsOf(result)
  return fault === undefined ? undefined : (bySchedule(result.name, fault) ?? BY_FAULT[fault])
}

function bySchedule(name: string, fault: Fault): string | undefined {
  if (fault === 'doubled' && name === 'same-again')
    return "the receiver does not recognise a copy: use the provider's event id as a unique key"
  if (fault === 'doubled' && name === 'after-restart')
    return 'the receiver remembers events in memory only: keep their ids in the database'
  if (fault === 'doubled' && name.startsWith('hours-later'))
    return 'the receiver forgets an event id too early: keep it for as long as the provider retries and replays'
  if (fault === 'doubled' && name.startsWith('kill'))
    return 'record the event id in the same transaction as its effect, and pass a key that stays the same to each call (Idempotency-Key)'
  if (fault === 'genuine-refused' && name === 'unusual-bytes')
    return 'the signature is checked over a parsed body: check it over the raw bytes'
  if (fault === 'forged-accepted' && name === 'rewritten')
    return 'the signature is checked over a parsed body: check it over the raw bytes'
  if (fault === 'forged-accepted' && name === 'outdated')
    return 'the date in the signature is not checked: refuse a delivery that is older than the provider allows'
  return undefined
}

const BY_FAULT: Readonly<Record<Fault, string | undefined>> = {
  doubled:
    'two copies pass the check before either is recorded: insert the event id under a unique constraint, in the same transaction as the effect',
  lost: 'the event is marked as done before its work is finished: record its id in the same transaction as its effect, and accept it after the commit',
  different: undefined,
  stale: "compare the event's date or version with the row's before you overwrite it",
  'forged-accepted':
    'check the signature over the raw bytes before anything else, and answer 401 if it is wrong',
  'genuine-refused': 'the provider gives up on this event: find out why the receiver does not answer 2xx',
}
