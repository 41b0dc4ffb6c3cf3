import { fileURLToPath } from 'node:url'
import { SENDER } from './source.ts'
import { startTalking, type TalkingProcess } from './talking-process.ts'

/** Runs test/support/idempotent-app.mjs or inline-app.mjs. */
export interface KeyedApp extends TalkingProcess {
  readonly pid: number
  readonly url: string
  post(behaviour: string, key: string): Promise<Response>
}

export async function startKeyedApp(config: object, script = 'idempotent-app.mjs'): Promise<KeyedApp> {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const app = startTalking(path, { config: { sender: SENDER, ...config } })
  const { port, pid } = await app.says('ready')
  const url = `http://127.0.0.1:${port}`
  return {
    ...app,
    pid: Number(pid),
    url,
    post: (behaviour, key) =>
      fetch(`${url}/${behaviour}`, {
        method: 'POST',
        body: '{"n":1}',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
      }),
  }
}
