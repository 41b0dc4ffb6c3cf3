import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { HookonceError } from '../model/errors.ts'
import type { ChildSettings, FromChild, ToChild } from './child-messages.ts'
import { type Door, sendTo } from './door.ts'
import type { Journal } from './journal.ts'
import type { TestProcess } from './process.ts'

export interface ChildOptions {
  readonly settings: ChildSettings
  /** Options of Node.js, such as `['--import', 'tsx']`. */
  readonly execArgv: readonly string[]
  readonly log: Journal
  readonly shiftMs: () => number
  /** Called when an armed fault has happened in the child. */
  readonly onHit: (fault: number, process: TestProcess) => void
}

export interface RunningChild {
  readonly process: TestProcess
  readonly door: Door
  arm(fault: ChildSettings['faults'][number]): void
}

/** Starts a real process for the app. Resolves when it accepts deliveries. */
export async function startChild(options: ChildOptions): Promise<RunningChild> {
  const { settings, execArgv, log, onHit } = options
  const script = fileURLToPath(new URL('./child.js', import.meta.url))
  const child = fork(script, [JSON.stringify(settings)], {
    execArgv: [...execArgv],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-4_000)
  })
  const exited = once(child, 'exit')
  let state: TestProcess['state'] = 'living'
  const observer = log.observer(() => state !== 'dead')
  const send = (message: ToChild): void => {
    if (child.connected) child.send(message)
  }

  const self: TestProcess = {
    get state() {
      return state
    },
    // The child looks for jobs every few milliseconds.
    wake: () => undefined,
    die() {
      state = 'dead'
      child.kill('SIGKILL')
    },
    freeze() {
      state = 'frozen'
      child.kill('SIGSTOP')
    },
    thaw() {
      if (state !== 'frozen') return
      state = 'living'
      child.kill('SIGCONT')
      send({ goOn: true })
    },
    goOn: () => send({ goOn: true }),
    async timeMoved() {
      send({ shiftMs: options.shiftMs() })
    },
    async close() {
      // The listener for its end keeps this process running until then.
      child.ref()
      child.channel?.ref()
      self.thaw()
      if (state === 'living') {
        const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
        send({ stop: true })
        await exited
        clearTimeout(late)
      } else child.kill('SIGKILL')
      await exited
    },
  }

  const port = await new Promise<number>((resolve, reject) => {
    child.on('message', (message: FromChild) => {
      if ('port' in message) resolve(message.port)
      if ('hit' in message) onHit(message.hit, self)
      if ('attempt' in message) observer.attempt?.(message.attempt)
      if ('effectStarted' in message) observer.effectStarted?.(message.effectStarted)
      if ('trouble' in message) observer.trouble?.(message.trouble)
    })
    void exited.then(() => {
      const fault = `the process of the test ended before it accepted deliveries. ${complaint.trim()}`
      reject(new HookonceError('CONFIG_INVALID', `testHooks(): ${fault}`))
      if (state === 'living') state = 'dead'
    })
  })
  child.unref()
  child.channel?.unref()
  return {
    process: self,
    arm: (fault) => send({ arm: fault }),
    door: {
      send: (request, loseReply) => sendTo(port, request, loseReply),
      answered: async () => undefined,
      close: async () => undefined,
    },
  }
}

/** A process that does not stop within this time is killed. */
const STOP_MS = 5_000
