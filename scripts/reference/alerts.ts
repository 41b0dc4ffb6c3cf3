import { rules } from '../../src/alerts/config.ts'
import { code, markdownTable } from './markdown.ts'

/** The rules of alerts, with the limits that they have by default. */
export function ruleTable(): string {
  const rows = Object.entries(rules).map(([name, rule]) => [
    code(name),
    rule.description ?? '',
    code(JSON.stringify(rule.parse({}), null, 1).replaceAll(/\n */g, ' ')),
  ])
  return markdownTable(['rule', 'opens when', 'default'], rows)
}
