// Terminals: commands that end, and programs that keep running.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * The environment of a newcomer: no database, no secret, no settings of the npm that runs this
 * script.
 */
function newcomersEnvironment() {
  const foreign = /^(DATABASE_URL|npm_.*|FORCE_COLOR)$|SECRET$/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)))
}

/**
 * Starts a command line in a shell. Its processes form a group, so that they are stopped together.
 */
export function start(line, cwd) {
  const child = spawn('bash', ['-e', '-c', line], {
    cwd,
    env: { ...newcomersEnvironment(), NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const program = { printed: '', stdout: '', isGone: false }
  child.stdout.on('data', (chunk) => {
    program.stdout += String(chunk)
  })
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      program.printed += String(chunk)
    })
  const gone = once(child, 'close').then(() => {
    program.isGone = true
  })
  return Object.assign(program, {
    async ends() {
      await gone
      return child.exitCode
    },
    /** Stops the program as Ctrl-C does. */
    async stop() {
      if (!program.isGone) process.kill(-child.pid, 'SIGINT')
      await gone
    },
  })
}

/** Waits until the output of a program matches a pattern. */
export async function prints(program, pattern, limitMs = 60_000) {
  const end = performance.now() + limitMs
  while (!pattern.test(program.printed)) {
    if (performance.now() > end) return false
    if (program.isGone) return pattern.test(program.printed)
    await delay(50)
  }
  return true
}
