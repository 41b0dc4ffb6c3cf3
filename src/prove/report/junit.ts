import { FAULTS } from '../judge.ts'
import type { Proof, ScheduleResult } from '../result.ts'
import { escaped } from './xml.ts'

/** A file in the format of JUnit, which every CI server can show. One test per schedule. */
export function junitReport({ results, ms, provider, url }: Proof): string {
  const count = (outcome: ScheduleResult['outcome']): number =>
    results.filter((result) => result.outcome === outcome).length
  const head = `tests="${results.length}" failures="${count('broken')}" skipped="${count('not-tried')}" time="${ms / 1_000}"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${head}>`,
    `  <testsuite name="${escaped(`hookonce prove ${provider} ${url}`)}" ${head}>`,
    ...results.map((result) => testCase(result)),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

function testCase(result: ScheduleResult): string {
  const { name, title, outcome, reason = '', ms } = result
  const open = `    <testcase classname="hookonce prove" name="${escaped(`${name}: ${title}`)}" time="${ms / 1_000}"`
  if (outcome === 'held') return `${open}/>`
  if (outcome === 'not-tried') return `${open}><skipped message="${escaped(reason)}"/></testcase>`
  const message = [...new Set(result.findings.map(({ fault, where }) => `${fault}: ${where}`))].join(', ')
  const text = [
    ...result.findings.flatMap(({ fault, where, expected, seen }) => [
      `${where}: ${FAULTS[fault]}`,
      ...expected.map((line) => `  expected: ${line}`),
      ...(seen.length === 0 ? ['  seen: nothing'] : seen.map((line) => `  seen: ${line}`)),
    ]),
    ...result.steps.map((step, index) => `${index + 1}. ${step}`),
    `repeat: ${result.repeat}`,
  ].join('\n')
  return `${open}><failure message="${escaped(message)}">${escaped(text)}</failure></testcase>`
}
