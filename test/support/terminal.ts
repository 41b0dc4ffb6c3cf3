import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { CLI_ENV, MAIN } from './cli.ts'
import { until } from './until.ts'

/** A program in a pseudo-terminal of 100 columns, made by `script` of util-linux. */
export interface Terminal {
  /** All output of both streams, with the codes for the terminal. */
  readonly output: () => string
  /** Waits until the terminal has shown this text. */
  shows(text: string | RegExp): Promise<void>
  /** Types keys: `\\t` is Tab, `\\x03` is Ctrl-C. */
  type(keys: string): void
  /** Its exit code. */
  ended(): Promise<number | null>
}

export const CTRL_C = '\x03'

/** Runs the command line in a terminal. */
export function cliInTerminal(args: readonly string[], env: Record<string, string> = {}): Terminal {
  return inTerminal([process.execPath, MAIN, ...args], env)
}

export function inTerminal(words: readonly string[], env: Record<string, string> = {}): Terminal {
  const command = `stty cols 100 rows 30; exec ${words.map(quoted).join(' ')}`
  // -e returns the program's exit code, -f flushes at once, and the output file is discarded.
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { ...CLI_ENV, TERM: 'xterm', SHELL: '/bin/sh', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += String(chunk)
  })
  const gone = once(child, 'close')
  let isClosed = false
  child.once('close', () => {
    isClosed = true
  })
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await gone
  })
  return {
    output: () => output,
    async shows(text) {
      await until(`the terminal shows ${String(text)}`, () => {
        if (typeof text === 'string' ? output.includes(text) : text.test(output)) return true
        if (isClosed) throw new Error(`it ended and never showed ${String(text)}: ${output}`)
        return false
      })
    },
    type: (keys) => void child.stdin.write(keys),
    async ended() {
      await gone
      return child.exitCode
    },
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
