import { adminClient } from '../client/index.ts'
import { serveMcp } from '../mcp/server.ts'
import { type Command, parse } from './command.ts'
import { fetchWithin, gatewayAt, tokenOf } from './gateway-access.ts'
import { packageVersion } from './package-version.ts'

const usage = `hookonce mcp [--from http://127.0.0.1:4401] [--token env:NAME] [--allow-changes]

A Model Context Protocol server on standard input and output, over the admin API of a gateway. An agent that starts it can
find events, explain what became of them, list failures, refusals and open decisions, and plan replays.

--from           the URL of the admin listener of a gateway; the default is that of \`hookonce dev\`
--token          env:NAME or file:/path; default HOOKONCE_TOKEN. Its role decides what the agent may see and do
--allow-changes  also offers the tools that replay, decide, pause and resume. They are in the audit under the token's name`

const ANSWER_WITHIN_MS = 30_000

export const mcp: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      from: { type: 'string', default: 'http://127.0.0.1:4401' },
      token: { type: 'string' },
      'allow-changes': { type: 'boolean', default: false },
    })
    const from = gatewayAt({ usage }, values.from)
    const token = tokenOf(values.token)
    const stopping = new AbortController()
    const stop = (): void => stopping.abort()
    process.once('SIGINT', stop).once('SIGTERM', stop)
    await serveMcp({
      client: adminClient({
        baseUrl: `${from}/api/v1`,
        ...(token === undefined ? {} : { token }),
        fetch: fetchWithin(ANSWER_WITHIN_MS, stopping.signal),
      }),
      version: packageVersion(),
      allowsChanges: values['allow-changes'],
      input: process.stdin,
      output: process.stdout,
      stop: stopping.signal,
    })
  },
}
