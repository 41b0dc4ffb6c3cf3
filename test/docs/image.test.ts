import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { DRAIN_MS } from '../../src/hookonce.ts'

/* The image and its compose file, read as text: no test builds them. */

const read = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
const dockerfile = read('Dockerfile')
const compose = read('compose.yaml')

/** One service of the compose file. */
function service(name: string): string {
  const [, text = ''] = compose.split(new RegExp(`^  ${name}:\n`, 'm'))
  return text.split(/^ {0,2}\S/m, 1)[0] ?? ''
}

test('every stage of the image is Node 24, pinned by its digest', () => {
  const [, image] = /^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfile) ?? []
  expect(image).toMatch(/^node:24\.\d+\.\d+-bookworm-slim@sha256:[0-9a-f]{64}$/)
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)
  for (const base of bases) expect(base).toMatch(/^\$\{NODE_IMAGE\}$/)
  expect(bases.length).toBeGreaterThan(1)
})

test('the image can send alerts by mail', () => {
  expect(dockerfile).toMatch(
    /cp -r node_modules\/nodemailer .*\n.*npm prune .* mv \/nodemailer node_modules\/nodemailer/,
  )
  const { dependencies = {} } = JSON.parse(read('node_modules/nodemailer/package.json'))
  expect(dependencies).toEqual({})
})

test('the image runs as an unprivileged user, without package managers', () => {
  expect(dockerfile).toMatch(/^USER 1000:1000$/m)
  expect(dockerfile).toMatch(/rm -rf \/usr\/local\/lib\/node_modules /)
  expect(dockerfile).toContain("fetch('http://127.0.0.1:4401/healthz')")
})

test.each(['hookonce', 'postgres'])('the service %s drops all capabilities that it does not need', (name) => {
  expect(service(name)).toMatch(/^ {4}cap_drop:\n {6}- ALL$/m)
  expect(service(name)).toMatch(/^ {4}security_opt:\n {6}- no-new-privileges:true$/m)
})

test('hookonce has a read-only file system and no capability, and is not killed before it has drained', () => {
  const hookonce = service('hookonce')
  expect(hookonce).toMatch(/^ {4}read_only: true$/m)
  expect(hookonce).not.toContain('cap_add')
  expect(hookonce).not.toContain('4401:')
  const [, graceSeconds] = /stop_grace_period: (\d+)s/.exec(hookonce) ?? []
  expect(Number(graceSeconds) * 1_000).toBeGreaterThan(DRAIN_MS + 2_000)
})

test.each(['.env', '.env.*', '*.pem', '.hookonce', '.git', '**/node_modules'])(
  '%s stays out of the image',
  (line) => {
    expect(read('.dockerignore').split('\n')).toContain(line)
  },
)
