// A gateway over a seeded ledger, with the sources and destinations of the seeded events.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const BIN = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))
const secret = (text) => `whsec_${Buffer.from(text.padEnd(32, '.')).toString('base64')}`

/** The secret of every source and every destination. */
export const SIGNING_SECRET = secret('signs the seeded sources')
export const ADMIN_TOKEN = 'the-admin-token-of-a-seeded-ledger'

export function seededConfig(destinationUrl = 'https://app.example/hooks') {
  const source = (provider) => [provider, { provider, secret: 'env:SEEDED_SECRET' }]
  const destination = (name) => [
    name,
    { url: `${destinationUrl}/${name}`, secret: 'env:SEEDED_SECRET', allowPrivate: ['127.0.0.1'] },
  ]
  return {
    sources: Object.fromEntries(['stripe', 'github', 'shopify', 'slack'].map(source)),
    destinations: Object.fromEntries(['crm', 'ci', 'fulfilment', 'support-bot'].map(destination)),
    routes: [
      { from: 'stripe', types: 'customer.subscription.*', to: 'crm' },
      { from: 'shopify', types: ['orders/create', 'orders/fulfilled'], to: 'crm' },
      { from: 'shopify', types: ['orders/create', 'orders/paid'], to: 'fulfilment' },
      { from: 'github', to: 'ci' },
      { from: 'slack', to: 'support-bot' },
    ],
  }
}

/** Starts a `hookonce serve` that only receives, so that no worker runs the seeded jobs. */
export async function serveSeeded({ databaseUrl, dir, args = [] }) {
  const config = join(dir, 'hookonce.json')
  writeFileSync(config, JSON.stringify(seededConfig()))
  const child = spawn(
    process.execPath,
    [
      BIN,
      'serve',
      '--config',
      config,
      '--port',
      '0',
      '--host',
      '127.0.0.1',
      '--admin-port',
      '0',
      '--receive-only',
      ...args,
    ],
    {
      env: {
        ...process.env,
        DATABASE_URL: databaseUrl,
        SEEDED_SECRET: SIGNING_SECRET,
        HOOKONCE_ADMIN_TOKEN: ADMIN_TOKEN,
        // The check of the server's durability is off: a seeded server need not be durable.
        HOOKONCE_DURABILITY: 'unsafe',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  const said = []
  const ports = await new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error(`the gateway ended:\n${said.join('\n')}`)))
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line)
      const { port, adminPort } = line.startsWith('{') ? JSON.parse(line) : {}
      if (adminPort) resolve({ port, adminPort })
    })
  })
  return {
    ...ports,
    pid: child.pid,
    stop: () =>
      new Promise((resolve) => {
        child.removeAllListeners('exit').once('exit', resolve)
        child.kill('SIGTERM')
      }),
  }
}
