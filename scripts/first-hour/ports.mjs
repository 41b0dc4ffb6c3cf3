// The ports in the pages, and replacements for ports that are in use on this machine.
import { createServer } from 'node:net'

/** The used port, by the port in the pages. */
export async function choosePorts() {
  const ports = new Map()
  for (const named of [3000, 4400, 4401, 4500])
    ports.set(named, await listenOn(named).catch(() => listenOn(0)))
  return ports
}

async function listenOn(port) {
  const server = createServer()
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const used = server.address().port
  await new Promise((resolve) => server.close(resolve))
  return used
}

/** A text of a page, with the used ports. */
export function withPorts(text, ports) {
  return text.replaceAll(/\b(?:3000|4400|4401|4500)\b/g, (named) => String(ports.get(Number(named))))
}

/** Options that commands need if the default ports are in use. */
export function withPortOptions(line, ports) {
  const [delivery, admin] = [ports.get(4400), ports.get(4401)]
  if (delivery === 4400 && admin === 4401) return line
  return line
    .replace(/hookonce dev$/, `$& --port ${delivery} --admin-port ${admin}`)
    .replace(/hookonce trigger (\w+)/, `$& --url http://127.0.0.1:${delivery}/in/$1`)
}
