import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refuseOldNode } from './node-version.ts'

test.each(['14.21.3', '16.20.2', '18.20.8', '20.18.3'])('Node.js %s is refused in one line', (version) => {
  expect(refuseOldNode(version)).toMatch(new RegExp(`^hookonce needs Node\\.js [^\\n]* this is ${version}`))
})

test.each(['20.19.0', '22.0.0', '24.1.0', '100.0.0'])('Node.js %s is not', (version) => {
  expect(refuseOldNode(version)).toBeUndefined()
})

test('the oldest is the one that package.json names', () => {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } }
  const oldest = engines.node.replace('>=', '')
  expect(refuseOldNode(`${oldest}.0`)).toBeUndefined()
  expect(refuseOldNode('1.0.0')).toContain(`Node.js ${oldest} or later`)
})

/** Without `parseArgs`: bin.ts checks the version before it loads the commands, which use it. */
const NEWER = [
  ...['availableParallelism', 'crc32', 'glob', 'globSync', 'hash', 'isAscii', 'isUtf8', 'openAsBlob'],
  ...['parseEnv', 'statfs', 'statfsSync', 'styleText', 'subscribe', 'tracingChannel', 'unsubscribe'],
]

test('nothing is imported by a name that Node.js 16 does not know: it would fail before the version is checked', () => {
  const newer = new RegExp(`import \\{[^}]*\\b(${NEWER.join('|')})\\b[^}]*\\} from 'node:`)
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  // Not only `test.ts`: event-as-test.ts is no test.
  const shipped = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  expect(shipped).toContain('operate/as-test/event-as-test.ts')
  expect(shipped.filter((file) => newer.test(readFileSync(join('src', file), 'utf8')))).toEqual([])
})

test.each(['.', 'sources', 'keys', 'inline', 'publishers', 'gateway', 'testing'])(
  'the entry of %s checks the version before it imports anything else',
  (folder) => {
    const [first] = readFileSync(join('src', folder, 'index.ts'), 'utf8').split('\n')
    expect(first).toMatch(/^import '\.\.?\/supported-node\.ts'$/)
  },
)
