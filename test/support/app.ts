import { fileURLToPath } from 'node:url'
import type { Options, SubscriberOptions } from '../../src/index.ts'
import type { TestDatabase } from './database.ts'
import { manyLedgers } from './many-ledgers.ts'
import { SENDER, signed, type TestPayload } from './source.ts'
import { startTalking, type TalkingProcess } from './talking-process.ts'

export interface AppConfig {
  readonly options?: Omit<Options, 'sources' | 'database'>
  readonly subscriber?: SubscriberOptions
  /** Orders events by the second part of their key. */
  readonly ordered?: boolean
  readonly receives?: boolean
  readonly works?: boolean
  readonly stop?: { drainMs: number }
  readonly env?: Record<string, string>
  /** Another script than app.mjs, with its own configuration. */
  readonly script?: string
  /** The build to run on. Default: the present build. */
  readonly dist?: string
  readonly more?: Record<string, unknown>
}

/** Runs test/support/app.mjs or another script. */
export interface App extends TalkingProcess {
  readonly pid: number
  readonly url: string
  send(payload: TestPayload | string): Promise<Response>
}

const SCRIPT = fileURLToPath(new URL('./app.mjs', import.meta.url))

export async function startApp(
  database: Pick<TestDatabase, 'url'>,
  { env, script = SCRIPT, more, ...config }: AppConfig = {},
): Promise<App> {
  const app = startTalking(script, {
    config: {
      database: database.url,
      sender: SENDER,
      ...config,
      options: { ...manyLedgers(database), ...config.options },
      ...more,
    },
    env,
  })
  const { port, pid } = await app.says('ready')
  const url = `http://127.0.0.1:${port}/in/test`
  return { ...app, pid: Number(pid), url, send: (payload) => fetch(url, signed(payload)) }
}
