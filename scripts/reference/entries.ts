import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { code, markdownTable } from './markdown.ts'
import { ROOT } from './root.ts'

interface Budget {
  readonly modules: number
  readonly kilobytes: number
  readonly packages: readonly string[]
}

/** The entries of package.json, each with its budget. */
export function entryTable(): string {
  const { exports } = json('package.json') as { readonly exports: object }
  const budgets = json('test/packaging/budgets.json') as Readonly<Record<string, Budget>>
  const entries = Object.keys(exports)
    .filter((path) => !path.endsWith('.json'))
    .map((path) => `hookonce${path.slice(1).replace('*', '<provider>')}`)
    // The pattern comes last: its row is about many entries.
    .sort((one, other) => Number(one.includes('<')) - Number(other.includes('<')))
  const surplus = Object.keys(budgets).filter((entry) => !entries.includes(entry))
  if (surplus.length > 0) throw new Error(`package.json exports no ${surplus.join(', ')}`)
  const rows = entries.map((entry) => {
    const budget = budgets[entry]
    if (!budget) throw new Error(`test/packaging/budgets.json has no budget for ${entry}`)
    return [code(entry), String(budget.modules), String(budget.kilobytes), budget.packages.join(', ')]
  })
  return markdownTable(['import', 'modules, at most', 'kB, at most', 'packages'], rows)
}

function json(file: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, file), 'utf8'))
}
