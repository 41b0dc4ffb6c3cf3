// Plays a newcomer who has only the README, and docs/start.md, which the README links to. Clones
// the last commit into an empty folder, does what the pages say, and compares the documented
// outputs with the real ones.
//   npm run first-hour
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { chromiumOptions } from './chromium.mjs'
import { patternOf } from './first-hour/compare.mjs'
import { choosePorts, withPortOptions, withPorts } from './first-hour/ports.mjs'
import { quoted, stepsOf } from './first-hour/story.mjs'
import { prints, start } from './first-hour/terminal.mjs'

const PAGES = ['README.md', 'docs/start.md']
/** A command that keeps running. */
const RUNS_ON = /\bhookonce dev\b|\bnode \w+\.mjs$/
/** The output by which a running command reports that it is ready. */
const READY = /^(POST http|Look in from another terminal)/m

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const home = mkdtempSync(join(tmpdir(), 'hookonce-first-hour-'))
// As root, the embedded server runs as another account, which needs access to this folder.
chmodSync(home, 0o755)
const clone = join(home, 'hookonce')
const app = join(home, 'app')
const ports = await choosePorts()
// The port of the examples.
process.env.PORT = String(ports.get(3000))

/** The newcomer's folder, the running programs, and the output of the last command. */
const newcomer = { folder: clone, running: new Map(), printed: '', receipt: '' }

const actions = [
  [/^run ?(\w*)$/, run],
  [/^prints$/, (text) => compare(text, newcomer.printed)],
  [/^(\w+) prints$/, programPrints],
  [/^stop (\w+)$/, (_text, name) => newcomer.running.get(name).stop()],
  [/^save (\S+)$/, (text, file) => writeFileSync(join(newcomer.folder, file), text)],
  [/^send twice$/, sendTwice],
  [/^responses$/, compareResponses],
  [/^open$/, openDashboard],
  [/^try$/, tryCommands],
  [/^install$/, install],
]

async function run(text, name) {
  const lines = text.trim().split('\n')
  if (!lines.some((line) => RUNS_ON.test(line))) return runToEnd(text)
  for (const line of lines) await (RUNS_ON.test(line) ? leaveRunning(line, name) : runToEnd(line))
}

async function runToEnd(line, folder = newcomer.folder) {
  const program = start(withPortOptions(line, ports), folder)
  const code = await program.ends()
  newcomer.printed = program.printed
  if (code !== 0) throw new Error(`"${line.trim()}" ended with ${code}:\n${program.printed}`)
  return program.stdout
}

async function leaveRunning(line, name) {
  const program = start(withPortOptions(line, ports), newcomer.folder)
  newcomer.running.set(name, program)
  if (!(await prints(program, READY))) throw new Error(`"${line}" is not ready:\n${program.printed}`)
}

function compare(documented, printed) {
  if (!patternOf(documented).test(printed))
    throw new Error(`the page says:\n${documented}\nit printed:\n${printed}`)
}

async function programPrints(text, name) {
  const program = newcomer.running.get(name)
  if (!(await prints(program, patternOf(text)))) compare(text, program.printed)
}

async function sendTwice(text) {
  const [curl] = /^ +curl .*$/m.exec(newcomer.running.get('dev').printed)
  const answers = quoted(text).filter((code) => code.startsWith('{'))
  if (answers.length !== 2) throw new Error(`the paragraph shows ${answers.length} answers instead of 2`)
  for (const answer of answers) {
    const real = await runToEnd(curl)
    compare(answer, real)
    newcomer.receipt = JSON.parse(real).receipt
  }
}

function compareResponses(text) {
  const documented = quoted(text.split('.', 1)[0]).join(', ')
  const real = [...newcomer.printed.matchAll(/"status":"(\w+)"/g)].map(([, status]) => status).join(', ')
  if (documented !== real) throw new Error(`the page says ${documented}, it printed:\n${newcomer.printed}`)
}

async function openDashboard() {
  const [, url] = /The dashboard is at (\S+)/.exec(newcomer.running.get('dev').printed)
  const browser = await chromium.launch(chromiumOptions())
  try {
    const page = await browser.newPage()
    const faults = []
    page.on('pageerror', (error) => faults.push(error.message))
    await page.goto(url)
    await page.getByRole('link', { name: 'Events' }).first().click()
    await page.getByText('evt_1').first().waitFor()
    if (faults.length > 0) throw new Error(`the dashboard failed: ${faults.join('; ')}`)
  } finally {
    await browser.close()
  }
}

async function tryCommands(table) {
  const commands = table.split('\n').flatMap((row) => quoted(row.split('|')[1] ?? ''))
  for (const command of commands) await runToEnd(command.replace('<id>', newcomer.receipt))
}

async function install(text) {
  const [pack, add] = quoted(text).filter((code) => code.startsWith('npm '))
  await runToEnd(pack)
  mkdirSync(app)
  newcomer.folder = app
  await runToEnd(add.replace('./', `${clone}/`))
}

async function play({ page, line, step, text }) {
  const began = performance.now()
  const [pattern, action] = actions.find(([known]) => known.test(step)) ?? []
  if (action === undefined) throw new Error(`${page}:${line}: unknown step "${step}"`)
  try {
    await action(withPorts(text, ports), ...pattern.exec(step).slice(1))
  } catch (error) {
    throw new Error(`${page}:${line}: ${step}: ${error.message}`)
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  process.stdout.write(`${page}:${line}  ${step}  ${seconds} s\n`)
}

try {
  execFileSync('git', ['clone', '--quiet', root, clone])
  const steps = PAGES.flatMap((page) => stepsOf(page, readFileSync(join(clone, page), 'utf8')))
  for (const step of steps) await play(step)
  process.stdout.write(`the pages are right: ${steps.length} steps\n`)
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
} finally {
  for (const program of newcomer.running.values()) await program.stop()
  rmSync(home, { recursive: true, force: true })
}
