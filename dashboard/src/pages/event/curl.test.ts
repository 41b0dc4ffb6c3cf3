import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { curlOf } from './curl.ts'

/** The arguments that a shell parses from the line. */
function argumentsOf(line: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${line}`
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1)
}

test('a shell reads the line as the request that was stored', () => {
  const body = `{"it's":"$HOME \`id\` \\n","line":"\n"}`
  const headers = "Content-Type: application/json\nHost: a.example\nX-Sign: t=1,v1='ab'\nContent-Length: 12"
  const line = curlOf({ url: 'http://127.0.0.1:4400/in/stripe', headers, body, file: 'x' })
  expect(argumentsOf(line)).toEqual([
    'http://127.0.0.1:4400/in/stripe',
    '-H',
    'Content-Type: application/json',
    '-H',
    "X-Sign: t=1,v1='ab'",
    '--data-binary',
    body,
  ])
})

test('a binary body comes from a file, and a text that begins with @ does not', () => {
  const request = { url: 'http://x/', headers: '', file: '0f3a.body' }
  expect(argumentsOf(curlOf({ ...request, body: undefined }))).toEqual([
    'http://x/',
    '--data-binary',
    '@0f3a.body',
  ])
  expect(argumentsOf(curlOf({ ...request, body: '@/etc/passwd' }))).toEqual([
    'http://x/',
    '--data-raw',
    '@/etc/passwd',
  ])
})
