import type {
  AlertSubject,
  InAttention,
  JobPlace,
  LastHeard,
  OldestDue,
  UsualDuplicates,
  UsualGaps,
  WindowCounts,
} from '../ledger/alerts/readings.ts'
import { type CheckedAlerts, type RuleName, type Rules, rulesOf } from './config.ts'
import { percent, span } from './words.ts'

/** A destination whose circuit is open: its jobs wait. */
export interface OpenCircuit extends JobPlace {
  readonly since: Date
}

/** The input of the rules, read in one transaction. */
export interface Readings {
  /** The counts in the window of every rule. */
  readonly counts: readonly WindowCounts[]
  readonly oldestDue: readonly OldestDue[]
  readonly attention: readonly InAttention[]
  readonly circuits: readonly OpenCircuit[]
  /** The usual share of duplicates of the sources in `duplicateCandidates`. */
  readonly usualDuplicates: readonly UsualDuplicates[]
  readonly lastHeard: readonly LastHeard[]
  /** The usual gaps between deliveries of the sources in `silenceCandidates`. */
  readonly usualGaps: readonly UsualGaps[]
}

/** A condition that holds now. */
export interface Finding extends JobPlace {
  readonly rule: RuleName
  readonly says: string
}

/** A shorter baseline is accidental: a source needs a day, and a night, of history. */
const MIN_DUPLICATE_HISTORY_HOURS = 24
/** With fewer deliveries than usual, one late retry would be a large share. */
const MIN_USUAL_SHARE = 0.01
/** Two days of history include two nights. The usual gap includes a weekend only after the first. */
const MIN_SILENCE_HISTORY_HOURS = 48
/** Ten-minute buckets with a delivery. A source that delivers once a day has no usual gap yet. */
const MIN_BUCKETS = 20

type On<Name extends RuleName> = Exclude<Rules[Name], 'off'>

function ifOn<Name extends RuleName>(
  alerts: CheckedAlerts,
  source: string,
  name: Name,
): On<Name> | undefined {
  const rule: Rules[Name] = rulesOf(alerts, source)[name]
  return rule === 'off' ? undefined : (rule as On<Name>)
}

/** The windows of the rules, in minutes. */
export function windowsOf(alerts: CheckedAlerts): number[] {
  const all = [alerts.rules, ...Object.values(alerts.sources)]
  const minutes = all.flatMap(({ failures, retries, duplicates, signatures }) =>
    [failures, retries, duplicates, signatures].flatMap((rule) =>
      rule === undefined || rule === 'off' ? [] : [rule.windowMinutes],
    ),
  )
  return [...new Set(minutes)].sort((a, b) => a - b)
}

/** Sources with enough duplicates to be compared with their baseline. */
export function duplicateCandidates(alerts: CheckedAlerts, counts: readonly WindowCounts[]): AlertSubject[] {
  return counts
    .filter(({ source, subscriber, minutes, duplicate }) => {
      const rule = ifOn(alerts, source, 'duplicates')
      return rule && subscriber === '' && minutes === rule.windowMinutes && duplicate >= rule.count
    })
    .map(placeOf)
}

/** Sources without deliveries for long enough to be compared with their usual gaps. */
export function silenceCandidates(alerts: CheckedAlerts, heard: readonly LastHeard[]): AlertSubject[] {
  return heard
    .filter(({ source, silentSeconds }) => {
      const rule = ifOn(alerts, source, 'silence')
      return rule && silentSeconds >= rule.minutes * 60
    })
    .map(placeOf)
}

/** Judges every rule. */
export function findings(alerts: CheckedAlerts, readings: Readings): Finding[] {
  return [
    ...readings.counts.flatMap((counts) => countFindings(alerts, counts)),
    ...readings.oldestDue.flatMap((due) => lagFinding(alerts, due)),
    ...readings.attention.flatMap((waiting) => attentionFinding(alerts, waiting)),
    ...readings.circuits.flatMap((circuit) => circuitFinding(alerts, circuit)),
    ...readings.usualDuplicates.flatMap((usual) => duplicateFinding(alerts, usual, readings.counts)),
    ...readings.usualGaps.flatMap((usual) => silenceFinding(alerts, usual, readings.lastHeard)),
  ]
}

function countFindings(alerts: CheckedAlerts, counts: WindowCounts): Finding[] {
  const { minutes, received, duplicate, unsigned, processed, retrying, failed } = counts
  const { failures, retries, signatures } = rulesOf(alerts, counts.source)
  const found: [RuleName, string][] = []
  const holds = (rule: On<'failures'> | 'off', cases: number, all: number): boolean =>
    rule !== 'off' && rule.windowMinutes === minutes && cases >= rule.count && cases >= all * rule.share
  const within = `in the last ${span(minutes * 60)}`

  const finished = processed + failed
  if (holds(failures, failed, finished))
    found.push(['failures', `${failed} of ${finished} finished jobs failed for good ${within}`])
  const attempts = processed + retrying + failed
  if (holds(retries, retrying, attempts))
    found.push(['retries', `${retrying} of ${attempts} attempts failed ${within}, and will be retried`])
  const deliveries = received + duplicate + unsigned
  if (holds(signatures, unsigned, deliveries))
    found.push(['signatures', `${unsigned} of ${deliveries} deliveries failed verification ${within}`])
  return found.map(([rule, says]) => ({ rule, ...jobPlaceOf(counts), says }))
}

function lagFinding(alerts: CheckedAlerts, due: OldestDue): Finding[] {
  const rule = ifOn(alerts, due.source, 'lag')
  if (!rule || due.lagSeconds < rule.seconds) return []
  return [{ rule: 'lag', ...jobPlaceOf(due), says: `the oldest due job has waited ${span(due.lagSeconds)}` }]
}

function attentionFinding(alerts: CheckedAlerts, waiting: InAttention): Finding[] {
  const rule = ifOn(alerts, waiting.source, 'attention')
  if (!rule || waiting.jobs < rule.count) return []
  const jobs = waiting.jobs === 1 ? '1 job waits' : `${waiting.jobs} jobs wait`
  const says = `${jobs} for a decision: the outcome of an effect is unknown`
  return [{ rule: 'attention', ...jobPlaceOf(waiting), says }]
}

function circuitFinding(alerts: CheckedAlerts, circuit: OpenCircuit): Finding[] {
  if (!ifOn(alerts, circuit.source, 'circuit')) return []
  const says = `its circuit has been open since ${circuit.since.toISOString().slice(0, 16)}Z: its jobs wait`
  return [{ rule: 'circuit', ...jobPlaceOf(circuit), says }]
}

function duplicateFinding(
  alerts: CheckedAlerts,
  usual: UsualDuplicates,
  all: readonly WindowCounts[],
): Finding[] {
  const rule = ifOn(alerts, usual.source, 'duplicates')
  if (!rule || usual.historyHours < MIN_DUPLICATE_HISTORY_HOURS) return []
  const counts = all.find(
    (one) => isAt(one, usual) && one.subscriber === '' && one.minutes === rule.windowMinutes,
  )
  if (!counts) return []
  const { duplicate, received } = counts
  const shareNow = duplicate / (duplicate + received)
  const usualShare = usual.duplicate / Math.max(1, usual.duplicate + usual.received)
  if (shareNow < rule.factor * Math.max(usualShare, MIN_USUAL_SHARE)) return []
  const says = `${percent(shareNow)} of deliveries in the last ${span(rule.windowMinutes * 60)} were duplicates (${duplicate} of ${duplicate + received}); ${percent(usualShare)} are usual`
  return [{ rule: 'duplicates', ...placeOf(usual), subscriber: '', says }]
}

function silenceFinding(alerts: CheckedAlerts, usual: UsualGaps, heard: readonly LastHeard[]): Finding[] {
  const rule = ifOn(alerts, usual.source, 'silence')
  const silentSeconds = heard.find((one) => isAt(one, usual))?.silentSeconds
  if (!rule || silentSeconds === undefined) return []
  if (usual.historyHours < MIN_SILENCE_HISTORY_HOURS || usual.buckets < MIN_BUCKETS) return []
  if (silentSeconds < Math.max(rule.minutes * 60, rule.factor * usual.longestGapSeconds)) return []
  const says = `no delivery for ${span(silentSeconds)}; the longest gap of the last week was ${span(usual.longestGapSeconds)}`
  return [{ rule: 'silence', ...placeOf(usual), subscriber: '', says }]
}

function isAt(a: AlertSubject, b: AlertSubject): boolean {
  return a.tenant === b.tenant && a.source === b.source
}

function placeOf({ tenant, source }: AlertSubject): AlertSubject {
  return { tenant, source }
}

function jobPlaceOf({ tenant, source, subscriber }: JobPlace): JobPlace {
  return { tenant, source, subscriber }
}
