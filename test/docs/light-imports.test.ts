import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/*
 * The modules that a process loads before it does anything. Loading takes most of the time of a
 * short command, and of the cold start of a function.
 */

const src = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'src')

const IMPORT = /^(?:import|export) (?:([\w*{][^;'"=()]*?) from )?'([^']+)'/gm

/**
 * All modules that a file imports by value, directly or not: paths below src/, and names of
 * packages.
 */
function loadedBy(entry: string): Set<string> {
  const loaded = new Set<string>()
  const visit = (file: string): void => {
    if (loaded.has(file)) return
    loaded.add(file)
    const text = readFileSync(join(src, file), 'utf8')
    for (const [, names = '', specifier = ''] of text.matchAll(IMPORT)) {
      if (isTypeOnly(names)) continue
      if (specifier.startsWith('.')) visit(relative(src, join(src, dirname(file), specifier)))
      else loaded.add(specifier)
    }
  }
  visit(entry)
  return loaded
}

function isTypeOnly(names: string): boolean {
  const list = /^\{([^}]*)\}/.exec(names)?.[1]
  const every = list?.split(',').map((name) => name.trim())
  return names.startsWith('type ') || every?.every((name) => name === '' || name.startsWith('type ')) === true
}

test('the library loads no provider that its user does not import', () => {
  const loaded = [...loadedBy('index.ts')]
  expect(loaded).toContain('hookonce.ts')
  expect(loaded.filter((file) => file.startsWith('sources/catalogue/'))).toEqual([
    // The list imports on demand.
    'sources/catalogue/index.ts',
    // Signs messages that are published over HTTP.
    'sources/catalogue/standard-webhooks.ts',
  ])
})

test.each([
  'attention',
  'audit',
  'events',
  'failures',
  'outbox',
  'pause',
  'rejections',
  'replay',
  'show',
  'stats',
  'status',
])('the command %s checks no configuration, so it does not load the validator', (command) => {
  const loaded = loadedBy(`cli/${command}.ts`)
  expect(loaded).toContain('pg')
  expect([...loaded].filter((file) => file === 'zod' || file === 'options.ts')).toEqual([])
})
