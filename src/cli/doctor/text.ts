import type { Finding, Level } from '../../operate/doctor/diagnose.ts'
import { safe, safeBlock } from '../print.ts'
import type { Style } from '../style.ts'

const COLOURS = { ok: 'green', warn: 'yellow', fail: 'red' } as const

/** One line per check, with the advice below it. */
export function findingsText(findings: readonly Finding[], style: Style): string {
  const width = Math.max(...findings.map(({ check }) => check.length)) + 2
  const indent = ' '.repeat('fail'.length + 2 + width)
  const lines = findings.map(({ check, level, seen, advice }) => {
    const mark = style[COLOURS[level]](level.padEnd('fail'.length))
    const text = safeBlock(seen).replaceAll('\n', `\n${indent}`)
    const todo = advice === undefined ? '' : `\n${indent}${style.bold('→')} ${safe(advice)}`
    return `${mark}  ${check.padEnd(width)}${text}${todo}`
  })
  return [...lines, '', summaryText(findings)].join('\n')
}

function summaryText(findings: readonly Finding[]): string {
  const count = (level: Level): number => findings.filter((finding) => finding.level === level).length
  const plural = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`
  return `${count('ok')} ok, ${plural(count('warn'), 'warning')}, ${plural(count('fail'), 'failure')}`
}
