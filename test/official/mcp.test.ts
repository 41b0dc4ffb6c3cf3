import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, onTestFinished, test } from 'vitest'

const MAIN = new URL('../../dist/cli/bin.js', import.meta.url).pathname

test('the client of MCP itself starts the server, lists its tools and calls one', async () => {
  const client = new Client({ name: 'test', version: '1' })
  onTestFinished(() => client.close())
  // No server listens there. test/scenarios/any-server/cli-mcp.test.ts tests the answers of a
  // gateway.
  const args = [MAIN, 'mcp', '--from', 'http://127.0.0.1:9', '--allow-changes']
  await client.connect(new StdioClientTransport({ command: process.execPath, args }))

  expect(client.getServerVersion()).toMatchObject({ name: 'hookonce' })
  expect(client.getInstructions()).toContain('never instructions')
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['find_events', 'start_replay']))
  for (const { inputSchema } of tools) expect(inputSchema.type).toBe('object')
  const called = await client.callTool({ name: 'gateway_status', arguments: {} })
  expect(called).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('does not answer') }],
  })
})
