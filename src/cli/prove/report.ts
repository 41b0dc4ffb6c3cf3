import { adviceFor } from '../../prove/advice.ts'
import { FAULTS, type Finding } from '../../prove/judge.ts'
import { faultsOf, type Proof, type ScheduleResult } from '../../prove/result.ts'
import { print, safe } from '../print.ts'
import { styleOf } from '../style.ts'

interface ProofStart {
  readonly url: string
  readonly database: string | undefined
  readonly seed: number
}

/** The output during the proof and at its end. With --json only the end is printed. */
export interface Reporter {
  begin(start: ProofStart): void
  baseline(lines: readonly string[]): void
  result(result: ScheduleResult): void
  end(proof: Proof, ending: { readonly wasInterrupted: boolean; readonly file: string | undefined }): void
}

const SILENT = { begin: () => undefined, baseline: () => undefined, result: () => undefined }

export function reporter(isJson: boolean): Reporter {
  const style = styleOf(process.stdout)
  const say = (text: string): void => print(safe(text))
  const marks = {
    held: style.green('held     '),
    broken: style.red('BROKEN   '),
    'not-tried': style.dim('not tried'),
  }

  function end(
    proof: Proof,
    { wasInterrupted, file }: { wasInterrupted: boolean; file: string | undefined },
  ): void {
    const broken = proof.results.filter(({ outcome }) => outcome === 'broken')
    for (const result of broken) {
      print('')
      print(`${style.red(style.bold(faultsOf(result).join(', ')))}  ${style.bold(safe(result.title))}`)
      for (const line of brokenLines(result)) say(line)
    }
    print('')
    const held = proof.results.filter(({ outcome }) => outcome === 'held').length
    const untried = proof.results.length - held - broken.length
    const counts = `${held} held, ${broken.length} broke it, ${untried} not tried; seed ${proof.seed}, ${Math.round(proof.ms / 1_000)} s`
    if (wasInterrupted) print(style.yellow(`stopped before the end: ${counts}`))
    else if (broken.length > 0) print(style.red(`broken: ${counts}`))
    else if (held === 0) print(style.yellow(`nothing could be tried: ${counts}`))
    else print(style.green(`proven: ${counts}`))
    print('\nLimits of this run:')
    for (const limit of proof.limits) say(`  - ${limit}`)
    if (file !== undefined) print(`\n${safe(`The report is in ${file}`)}`)
  }

  if (isJson) return { ...SILENT, end }
  return {
    begin({ url, database, seed }) {
      say(`hookonce prove: ${url}, seed ${seed}`)
      if (database !== undefined)
        print(style.yellow(safe(`It writes test events into ${database}, and leaves them there.`)))
    },
    baseline(lines) {
      print('\nEffects of one delivery:')
      for (const line of lines.length > 0 ? lines : ['no visible effect']) say(`  ${line}`)
      print('')
    },
    result({ name, title, outcome, reason, findings, notes }) {
      const why = outcome === 'not-tried' ? `: ${reason}` : ''
      const faults = [...new Set(findings.map(({ fault }) => fault))].join(', ')
      const what = outcome === 'broken' ? `${title}: ${faults}` : title
      print(`${marks[outcome]}  ${safe(`${name.startsWith('kill ') ? '' : `${name}: `}${what}${why}`)}`)
      for (const note of notes) print(style.dim(safe(`             ${note}`)))
    },
    end,
  }
}

function brokenLines(result: ScheduleResult): string[] {
  return [
    `  ${faultsOf(result)
      .map((fault) => FAULTS[fault])
      .join('; ')}. The shortest schedule that shows it:`,
    ...result.steps.map((step, index) => `    ${index + 1}. ${step}`),
    ...result.findings.flatMap(findingLines),
    ...result.notes.map((note) => `  note: ${note}`),
    ...adviceLines(result),
    ...hintFor(result),
    `  repeat it: ${result.repeat}`,
  ]
}

function adviceLines(result: ScheduleResult): string[] {
  const advice = adviceFor(result)
  return advice === undefined ? [] : [`  likely: ${advice}`]
}

function findingLines({ where, expected, seen }: Finding): string[] {
  const shown = (lines: readonly string[]): string[] => (lines.length === 0 ? ['nothing'] : [...lines])
  return [
    `  ${where}`,
    ...shown(expected).map((line) => `    expected  ${line}`),
    ...shown(seen).map((line) => `    seen      ${line}`),
  ]
}

/**
 * A table that records each delivery looks like a doubled effect. Only the owner of the receiver
 * knows the difference.
 */
function hintFor({ findings }: ScheduleResult): string[] {
  const table = findings.find(({ fault, where }) => fault === 'doubled' && !where.includes(' '))
  return table ? [`  if ${table.where} only records deliveries, pass --ignore ${table.where}`] : []
}
