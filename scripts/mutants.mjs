/*
 * Removes each guard of the ledger in turn (row locks, fences and states that are compared or set,
 * durability) and runs the tests that send the changed statement: some test must fail. Not part of
 * `npm test`: it takes a quarter of an hour on two idle cores. A mutant that was killed is not
 * tried again until its statement or the test that killed it changes.
 *
 *   npm run mutants                         every guard that is new, was changed, or survived
 *   npm run mutants -- --again              every guard
 *   npm run mutants -- --only steps.ts      guards of one file; `steps.ts:42` for one line
 *   npm run mutants -- --list               prints the guards
 */
import { spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { EQUIVALENT } from './mutants/declared.mjs'
import { findMutants } from './mutants/find.mjs'
import { openKills } from './mutants/kills.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    list: { type: 'boolean', default: false },
    /** The number of mutants that are tried in parallel, each in its own copy. */
    lanes: { type: 'string', default: '2' },
    /** The start of the files that store which test sends which statement, between runs. */
    trace: { type: 'string', default: join(root, 'node_modules/.cache/hookonce-trace') },
    /** The mutants that were killed, kept here between runs. */
    kills: { type: 'string', default: join(root, 'node_modules/.cache/hookonce-kills.json') },
    /** Also tries mutants that were killed before. */
    again: { type: 'boolean', default: false },
  },
})
/** This test compares plans, not behaviour: it would fail for every removed lock. */
const LEFT_OUT = 'test/scenarios/each-server/ledger-shards.test.ts'
/** The tests that most likely fail come first. The others run only if these pass. */
const FIRST_FILES = 2
/** The failover is the only test in which a known event must wait for a standby. */
const GUARD_FILES = ['guards-', 'ledger-durable', 'failure-counts.test', 'own-server/failover.test']
const GUARDS = new RegExp(GUARD_FILES.join('|'))
/** These tests kill processes and servers many times, and take minutes. */
const SLOW = /crash|liveness|outage|failover|durability|stop|suspects/
const EMBEDDED = 'embedded'
const INSTALLED = 'installed'
/** Runs some files with the statements of a distributed ledger. */
const DISTRIBUTED = 'distributed'

/** Files that passed in an unchanged copy. */
const passing = new Set()

const mutants = findMutants(root, 'src/ledger').filter((mutant) => wanted(mutant) && !isEquivalent(mutant))
requireDeclaredToMatch()
if (options.list) {
  for (const mutant of mutants) console.log(describe(mutant))
  process.exit(0)
}

const kills = openKills(root, options.kills)
const untried = options.again ? mutants : mutants.filter((mutant) => !kills.has(mutant))
const killedBefore = mutants.length - untried.length
if (killedBefore > 0)
  console.log(`${killedBefore} mutants were killed before, by tests that have not changed since`)
// The tests of guards kill most mutants, in seconds. Tracing all tests takes many minutes, so it
// comes second, for the mutants that are left.
const trace = []
const left = await tryAll('guards', untried)
const survivors = await tryAll('all', left)
for (const mutant of survivors) console.log(`SURVIVED  ${describe(mutant)}`)
console.log(`${mutants.length - survivors.length} killed, ${survivors.length} survived`)
process.exit(survivors.length === 0 ? 0 : 1)

/** Tries the mutants against the tests of guards, or against all tests. Returns the survivors. */
async function tryAll(scope, candidates) {
  if (candidates.length === 0) return []
  trace.splice(0, trace.length, ...(await readTrace(scope)))
  const tests = (mutant) => filesFor(mutant, 'plain').length + filesFor(mutant, 'distributed').length
  // A statement that no traced test sends: among all tests, every one runs.
  const tried = scope === 'all' ? candidates : candidates.filter((mutant) => tests(mutant) > 0)
  const killed = new Set()
  console.log(`${tried.length} mutants against ${scope === 'all' ? 'all tests' : 'the tests of guards'}`)
  // Mutants whose statement few tests send come first.
  const rank = (mutant) => tests(mutant) || Number.POSITIVE_INFINITY
  const queue = tried.toSorted((a, b) => rank(a) - rank(b))
  await Promise.all(Array.from({ length: Number(options.lanes) }, () => lane(scope, queue, killed)))
  return candidates.filter((mutant) => !killed.has(mutant))
}

function wanted({ file, line }) {
  return options.only.length === 0 || options.only.some((only) => `${file}:${line}:`.includes(`${only}:`))
}

function isEquivalent(mutant) {
  return EQUIVALENT.some((declared) => matches(declared, mutant))
}

function matches({ file, removed, within }, mutant) {
  return mutant.file === file && flat(mutant.removed) === removed && flat(mutant.piece).includes(within)
}

function requireDeclaredToMatch() {
  const all = findMutants(root, 'src/ledger')
  const outdated = EQUIVALENT.filter((declared) => !all.some((mutant) => matches(declared, mutant)))
  if (outdated.length === 0) return
  for (const { file, removed } of outdated)
    console.error(`declared.mjs: ${file} has no guard "${removed}" any more`)
  process.exit(2)
}

function describe({ file, line, rule, removed }) {
  return `${file}:${line}  ${rule}: ${flat(removed)}`
}

function flat(text) {
  return text.replace(/\s+/g, ' ').trim()
}

/** Runs the tests of a scope once without a mutant. All must pass. */
async function readTrace(scope) {
  const path = `${options.trace}-${scope}.jsonl`
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true })
    console.log('running the unchanged tests once, to record the statements that they send…')
    const part = `${path}.part`
    rmSync(part, { force: true })
    const preload = pathToFileURL(join(root, 'scripts/mutants/trace.mjs')).href
    const env = {
      ...process.env,
      HOOKONCE_TRACE: part,
      // A trace of all tests with their names would be too large.
      HOOKONCE_TRACE_NAMES: scope === 'guards' ? '1' : '0',
      NODE_OPTIONS: `--import ${preload}`,
    }
    const projects = [EMBEDDED, INSTALLED, DISTRIBUTED].flatMap((name) => ['--project', name])
    const files = scope === 'all' ? [] : GUARD_FILES
    const { status, output } = await vitest(root, [...projects, ...files], env)
    if (status !== 0) {
      console.error(`${output}\nthe tests fail without any mutant: fix them first`)
      process.exit(2)
    }
    cpSync(part, path)
  }
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line)).map((sent) => ({ ...sent, test: relative(root, sent.test) }))
}

async function lane(scope, queue, killed) {
  const copy = mkdtempSync(join(tmpdir(), 'hookonce-mutant-'))
  try {
    for (const name of [
      'package.json',
      'vitest.config.ts',
      'tsconfig.json',
      'src',
      'dist',
      'test',
      'examples',
      'scripts',
      'docs',
      'README.md',
    ])
      cpSync(join(root, name), join(copy, name), {
        recursive: true,
        filter: (path) => !path.includes('node_modules'),
      })
    // Tests with Prisma install it in a folder of their own when they first run.
    for (const folder of ['.', 'test/prisma/made'].filter((folder) => existsSync(join(root, folder))))
      symlinkSync(join(root, folder, 'node_modules'), join(copy, folder, 'node_modules'))
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const killer = await provenKiller(copy, mutant)
      if (killer !== undefined) killed.add(mutant)
      if (killer?.file !== undefined) kills.add(mutant, killer.file)
      const outcome = killer?.failure ?? (scope === 'all' ? 'SURVIVED' : 'left for the other tests')
      console.log(`${describe(mutant)}, ${queue.length} to go\n      ${outcome}`)
    }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/**
 * Changes the source and the file built from it, because tests also start processes of the built
 * package.
 */
function apply(copy, { file, piece, nth, mutated }) {
  const paths = [join(copy, file), join(copy, file.replace(/^src/, 'dist').replace(/\.ts$/, '.js'))]
  const before = paths.map((path) => readFileSync(path, 'utf8'))
  for (const [index, path] of paths.entries()) {
    const parts = before[index].split(piece)
    if (parts.length < nth + 2) throw new Error(`${path} is not built from ${file}: run npm run build`)
    writeFileSync(path, parts.slice(0, nth + 1).join(piece) + mutated + parts.slice(nth + 1).join(piece))
  }
  return () => {
    for (const [index, path] of paths.entries()) writeFileSync(path, before[index])
  }
}

/** A test that kills the mutant, and passes without it. */
async function provenKiller(copy, mutant) {
  // On a busy machine a slow test may fail without a mutant. Its file proves nothing about this
  // mutant.
  const unreliable = new Set()
  for (;;) {
    const restore = apply(copy, mutant)
    const killer = await killerOf(copy, mutant, unreliable)
    restore()
    if (killer === undefined || (await passes(copy, killer))) return killer
    if (killer.file === undefined || unreliable.has(killer.file))
      throw new Error(`the tests also fail without a mutant: ${killer.failure}`)
    console.log(`${killer.file} also fails without a mutant, and is left out for ${describe(mutant)}`)
    unreliable.add(killer.file)
  }
}

async function killerOf(copy, mutant, unreliable) {
  const isReliable = (file) => !unreliable.has(file)
  const files = filesFor(mutant, 'plain').filter(isReliable)
  const distributed = filesFor(mutant, 'distributed').filter(isReliable)
  const isSent = files.length + distributed.length > 0
  const groups = [
    [EMBEDDED, files.slice(0, FIRST_FILES)],
    [DISTRIBUTED, distributed],
    [EMBEDDED, files.slice(FIRST_FILES)],
    [INSTALLED, files],
  ]
  for (const [project, group] of groups) {
    if (group.length === 0 && isSent) continue
    // Without file names vitest runs every file. That is right for a statement that no test was
    // seen to send.
    const names = namesIn(group, mutant, project === DISTRIBUTED ? 'distributed' : 'plain')
    const { status, output } = await run(copy, project, group, names)
    if (status === 0) continue
    const file = /test\/[\w/.-]+\.test\.ts/.exec(failureIn(output))?.[0]
    if (GUARDS.test(file)) return { project, file, failure: failureIn(output) }
    // On a busy machine unrelated tests can fail: only a test that fails twice counts.
    const again = await run(copy, project, file ? [file] : group)
    if (again.status !== 0) return { project, file, failure: failureIn(again.output) }
  }
  return undefined
}

/** A file that also fails in an unchanged copy kills nothing. */
async function passes(copy, { project, file }) {
  if (!passing.has(file)) {
    const { status } = await run(copy, project, file ? [file] : [])
    if (status === 0) passing.add(file)
  }
  return passing.has(file)
}

/**
 * Runs the tests with these names, or all tests of the files. No retries: this script itself
 * decides which tests run again.
 */
function run(copy, project, files, names) {
  const options = ['--project', project, '--passWithNoTests', '--bail', '1', '--retry', '0']
  const named = names?.map((name) => name.replaceAll(/[^\w ]/g, '\\$&')).join('|')
  const wanted = named === undefined ? [] : ['--testNamePattern', `^(?:${named})$`]
  return vitest(copy, [...options, ...wanted, ...files], process.env)
}

/** The first failing test, with its error. */
function failureIn(output) {
  const found = /^ *FAIL +(.*)\n(.*)/m.exec(output)
  return found ? `${found[1]}\n        ${found[2].trim()}` : output.slice(-500)
}

/** The tests in these files that send the mutated statement. Undefined: the trace has no names. */
function namesIn(files, mutant, shape) {
  const names = senders(mutant, shape)
    .filter(({ test }) => files.includes(test))
    .map(({ name }) => name)
  return names.length === 0 || names.includes(undefined) ? undefined : [...new Set(names)]
}

function senders({ sent }, shape) {
  return trace.filter((statement) => statement.shape === shape && statement.text.includes(sent))
}

/**
 * The test files that send the mutated statement: tests of guards first, slow tests last, and
 * otherwise tests that send few other statements first.
 */
function filesFor(mutant, shape) {
  const sizes = new Map()
  for (const { test } of trace) sizes.set(test, (sizes.get(test) ?? 0) + 1)
  const found = new Set(senders(mutant, shape).map(({ test }) => test))
  found.delete(LEFT_OUT)
  const rank = (file) => Number(SLOW.test(file)) - Number(GUARDS.test(file))
  return [...found].sort((a, b) => rank(a) - rank(b) || sizes.get(a) - sizes.get(b))
}

function vitest(cwd, args, env) {
  const child = spawn(process.execPath, [join(cwd, 'node_modules/vitest/vitest.mjs'), 'run', ...args], {
    cwd,
    env: { ...env, NO_COLOR: '1', FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (status) => resolve({ status, output }))
  })
}
