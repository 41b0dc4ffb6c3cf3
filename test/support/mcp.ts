import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, onTestFinished } from 'vitest'
import { CLI_ENV, MAIN } from './cli.ts'

interface Answer {
  readonly result?: { readonly content: readonly { readonly text: string }[]; readonly isError?: true }
  readonly error?: { readonly code: number; readonly message: string }
}

/** Runs `hookonce mcp`, with a client that sends one request at a time. */
export function startMcp(from: string, token: string, ...args: string[]) {
  const child = spawn(process.execPath, [MAIN, 'mcp', '--from', from, ...args], {
    env: { ...CLI_ENV, HOOKONCE_TOKEN: token },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  onTestFinished(async () => {
    child.kill()
    await closed
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let id = 0
  async function request(method: string, params: unknown): Promise<Answer> {
    id += 1
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    const line = JSON.parse((await lines.next()).value)
    expect(line).toMatchObject({ jsonrpc: '2.0', id })
    return line
  }
  return {
    closed,
    end: () => child.stdin.end(),
    request,
    /** The text in the result of a tool. */
    async ask(name: string, given: object = {}): Promise<string> {
      const { result, error } = await request('tools/call', { name, arguments: given })
      if (error) throw new Error(error.message)
      return `${result?.isError ? 'refused: ' : ''}${result?.content[0]?.text}`
    },
  }
}
