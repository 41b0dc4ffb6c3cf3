import type { RequestListener } from 'node:http'
import { argv, kill, pid } from 'node:process'
import { pathToFileURL } from 'node:url'
import { HookonceError } from '../model/errors.ts'
import { textOfThrown } from '../model/thrown.ts'
import type { Sources } from '../options.ts'
import type { ChildSettings, FromChild, ToChild } from './child-messages.ts'
import type { HooksFactory, TestApp } from './contract.ts'
import { openDoor } from './door.ts'
import { type ArmedFault, faults, hosted } from './faults.ts'
import { noProxy, simulatedProcess } from './process.ts'
import { movedSource, requireSeat, testOptions } from './test-options.ts'

/*
 * A real process of a test. It runs the user's app, kills or stops itself at the points that the
 * test has armed, and reports to the test.
 */

const settings = JSON.parse(argv[2] ?? '{}') as ChildSettings
const armed = faults()
let { shiftMs } = settings
let goOn: () => void = () => undefined

/** Resolves when the message was sent: a killed process sends nothing more. */
function tell(message: FromChild): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || !process.send) return resolve()
    process.send(message, () => resolve())
  })
}

async function onFault({ id, kind, point }: ArmedFault): Promise<void> {
  if (point !== 'ack') await door.answered()
  const released = new Promise<void>((resolve) => {
    goOn = resolve
  })
  await tell({ hit: id })
  if (kind === 'crash') kill(pid, 'SIGKILL')
  if (kind === 'freeze') kill(pid, 'SIGSTOP')
  else await released
}

async function factoryOf({ module, export: name }: ChildSettings): Promise<HooksFactory<Sources>> {
  const url = /^(?:file|data):/.test(module) ? module : pathToFileURL(module).href
  const exported: unknown = Reflect.get(await import(url), name)
  if (typeof exported === 'function') return exported as HooksFactory<Sources>
  const fault = `${module} exports no function "${name}"; export (database, { downstream }) => hooks`
  throw new HookonceError('CONFIG_INVALID', `testHooks(): process: ${fault}`)
}

const host = simulatedProcess({ proxy: noProxy, appProxy: noProxy, faults: armed, onFault })
for (const { kind, point, left, id } of settings.faults) armed.arm(kind, point, left, id)
const made = await factoryOf(settings).then((factory) =>
  factory(settings.database, { downstream: { url: settings.downstreamUrl } }),
)
const app: TestApp<Sources> = 'hooks' in made ? made : { hooks: made }
const seat = requireSeat(app.hooks)
const engine = seat.replace(
  testOptions(seat.options, {
    schema: settings.schema,
    url: settings.database,
    isFactory: true,
    observers: [
      host.observer,
      {
        attempt: ({ error, ...fact }) =>
          void tell({ attempt: error === undefined ? fact : { ...fact, error: textOfThrown(error) } }),
        effectStarted: (fact) => void tell({ effectStarted: fact }),
        trouble: ({ doing, error }) => void tell({ trouble: { doing, error: textOfThrown(error) } }),
      },
    ],
    moved: (source) => movedSource(source, () => shiftMs),
  }),
  (handler) => hosted(handler, host),
)
host.run(engine, app.close)
if (settings.start) await engine.start()
else await engine.open()
const door = await openDoor(app.app ?? (app.hooks.node() as RequestListener), host)

process.on('message', async (message: ToChild) => {
  if ('arm' in message) armed.arm(message.arm.kind, message.arm.point, message.arm.left, message.arm.id)
  if ('goOn' in message) goOn()
  if ('shiftMs' in message) {
    shiftMs = message.shiftMs
    await host.timeMoved()
  }
  if ('stop' in message) {
    await door.close()
    await host.close()
    await tell({ stopped: true })
    process.exit()
  }
})
// The test has ended, so this process is no longer needed.
process.on('disconnect', () => process.exit())
await tell({ port: door.port })
