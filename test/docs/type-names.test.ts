import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** Names of things that end in -ing, alone or as the last word of a type. */
const NOUNS = /(?:Binding|Encoding|Finding|Greeting|Keyring|Ring|Timing|Warning| ClockReading)$/

const DECLARATION = /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class) (\w+ing)\b/gm

/** Installed packages, and what test/prisma writes. */
const NOT_OURS = /^(?:node_modules|made|making-.*)$/

const root = fileURLToPath(new URL('../..', import.meta.url))

test('a type is named for a thing, not for an activity', () => {
  const names = ['src', 'dashboard/src', 'test'].flatMap(filesBelow).flatMap(typesEndingInIng)
  expect(names.length).toBeGreaterThan(5)
  expect(names.filter((name) => !NOUNS.test(name))).toEqual([])
})

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return NOT_OURS.test(entry.name) ? [] : filesBelow(path)
    return /\.(?:tsx?|mts)$/.test(entry.name) ? [path] : []
  })
}

/** Each as `file: name`. */
function typesEndingInIng(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(DECLARATION)].map(([, name]) => `${file}: ${name}`)
}
