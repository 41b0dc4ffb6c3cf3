// @ts-check
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { median } from '../load/percentiles.mjs'
import { cpuMeter } from '../servers/cpu.mjs'
import { requireRedis, startRedis } from '../servers/redis.mjs'
import { contenders, versionOf } from './contenders.mjs'
import { correctness } from './correct.mjs'

/*
 * Idempotency keys: hookonce compared with its peers, on the same Redis and machine. Measures first
 * requests and replays in alternating rounds, and checks whether the contender serves the purpose
 * of a key.
 */

const { values } = parseArgs({
  options: {
    contenders: { type: 'string' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
    body: { type: 'string', default: '500' },
    fsync: { type: 'string', default: 'everysec' },
    /** The protected function is called without HTTP, because HTTP costs more than any key. */
    calls: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
  },
})
if (values.fsync !== 'everysec' && values.fsync !== 'always')
  throw new Error(`--fsync must be everysec or always, not "${values.fsync}"`)
const eligible = contenders.filter(({ isFunction }) => isFunction || !values.calls)
const names = values.contenders?.split(',') ?? eligible.map(({ name }) => name)
const chosen = names.map((name) => {
  const found = eligible.find((contender) => contender.name === name)
  if (!found)
    throw new Error(
      `--contenders: there is no "${name}"; there are ${eligible.map(({ name }) => name).join(', ')}`,
    )
  return found
})
const load = {
  seconds: values.smoke ? 0.3 : number('--seconds', values.seconds),
  /** The number of requests before the measurement. */
  warmup: values.smoke ? 0 : 5000,
  connections: values.smoke ? 16 : number('--connections', values.connections),
  bodyBytes: number('--body', values.body),
}
const rounds = values.smoke ? 1 : number('--rounds', values.rounds)
const MODES = /** @type {const} */ (['first', 'replay'])

say(
  `keys: ${load.connections} ${values.calls ? 'calls at once, without HTTP' : 'connections'}, ${load.bodyBytes} bytes a body, ${load.seconds} s, median of ${rounds} alternating rounds\n` +
    `${cpus().length} cores (${cpus()[0]?.model}), ${values.calls ? '' : 'load generator and '}Redis included; Node ${process.version}, ` +
    `Redis ${requireRedis()}, appendfsync ${values.fsync}`,
)

/** @typedef {{ perSecond: number, cpu: number }} Speed */
/** @type {Map<string, { first: Speed[], replay: Speed[], correct: import('./correct.mjs').Correctness | undefined }>} */
const measured = new Map(chosen.map(({ name }) => [name, { first: [], replay: [], correct: undefined }]))
for (let round = 1; round <= rounds; round++) {
  for (const contender of chosen) {
    const results = measured.get(contender.name)
    if (!results) continue
    const server = await start(contender)
    try {
      if (round === 1 && contender.name !== 'none' && !values.calls)
        results.correct = await correctness(server.url)
      for (const mode of MODES) results[mode].push(await measure(server, mode, contender.name))
    } finally {
      await server.stop()
    }
    process.stderr.write(
      `  round ${round}/${rounds} ${contender.name}: ${MODES.map((mode) => `${mode} ${results[mode].at(-1)?.perSecond.toFixed()}/s`).join(', ')}\n`,
    )
  }
}
report()

/** @param {import('./contenders.mjs').Contender} contender */
async function start(contender) {
  const redis = await startRedis(/** @type {'everysec' | 'always'} */ (values.fsync))
  const child = fork(
    fileURLToPath(new URL(values.calls ? './calls.mjs' : './serve.mjs', import.meta.url)),
    [contender.file, String(redis.port)],
    { env: { ...process.env, NODE_ENV: 'production' } },
  )
  const [{ port }] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`${contender.name} ended with code ${code}`)
    }),
  ])
  return {
    child,
    port: /** @type {number} */ (port),
    pid: child.pid ?? 0,
    redisPid: redis.pid ?? 0,
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.disconnect()
      await once(child, 'exit')
      await redis.stop()
    },
  }
}

/**
 * @param {{ child: import('node:child_process').ChildProcess, port: number, pid: number, redisPid: number }} server
 * @param {'first' | 'replay'} mode
 * @param {string} name
 */
async function measure(server, mode, name) {
  const child = values.calls ? server.child : fork(fileURLToPath(new URL('./load.mjs', import.meta.url)))
  child.send({ port: server.port, mode, ...load })
  await once(child, 'message')
  const meter = await cpuMeter({ server })
  child.send('go')
  const [{ sent, perSecond, statuses }] = await once(child, 'message')
  const cpu = await meter.each(sent)
  if (child !== server.child) child.disconnect()
  // A wrong answer does not count as throughput.
  if (Object.keys(statuses).join() !== '201')
    throw new Error(`${name}, ${mode}: answered ${JSON.stringify(statuses)}`)
  return { perSecond: /** @type {number} */ (perSecond), cpu: cpu ? cpu.server + cpu.store : Number.NaN }
}

function report() {
  for (const contender of chosen) {
    const results = measured.get(contender.name)
    if (!results) continue
    const { first, replay, correct } = results
    say(`\n${contender.name} ${versionOf(contender)}${values.calls ? '' : ` on ${contender.on}`}`)
    say(`  first:  ${shown(first)}${against(contender, 'first')}`)
    say(`  replay: ${shown(replay)}${against(contender, 'replay')}`)
    if (correct) say(`  ${wordsOf(correct).join('; ')}`)
  }
  const wrong = chosen.filter(
    ({ name }) => name.startsWith('hookonce') && !values.calls && !isRight(measured.get(name)?.correct),
  )
  if (wrong.length > 0) {
    say(`\nnot correct: ${wrong.map(({ name }) => name).join(', ')}`)
    process.exitCode = 1
  }
}

/** @param {Speed[]} speeds */
function shown(speeds) {
  const rates = speeds.map(({ perSecond }) => perSecond)
  const costs = speeds.map(({ cpu }) => cpu)
  return `${median(rates).toFixed()}/s (${Math.min(...rates).toFixed()}–${Math.max(...rates).toFixed()}), ${median(costs).toFixed()} µs of CPU`
}

/**
 * Each variant of hookonce that runs in the same place as the peer, round by round.
 * @param {import('./contenders.mjs').Contender} peer
 * @param {'first' | 'replay'} mode
 */
function against(peer, mode) {
  if (!peer.isPeer) return ''
  const theirs = measured.get(peer.name)?.[mode] ?? []
  return chosen
    .filter(({ name, on }) => name.startsWith('hookonce') && on === peer.on)
    .map(({ name }) => {
      const ours = measured.get(name)?.[mode] ?? []
      const ratios = theirs.map(({ perSecond }, round) => (ours[round]?.perSecond ?? 0) / perSecond)
      const saved = theirs.map(({ cpu }, round) => cpu / (ours[round]?.cpu ?? 0))
      return `; ${name} is ${median(ratios).toFixed(2)}× as fast (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}), by CPU ${median(saved).toFixed(2)}×`
    })
    .join('')
}

/** @param {import('./correct.mjs').Correctness} correct */
function wordsOf({ runs, answered, otherBody, otherBodyInFlight, sameReply, noCookie }) {
  return [
    `100 at once ran ${runs === 1 ? 'once' : `${runs} TIMES`}`,
    `each was answered ${answered ? 'rightly' : 'WRONGLY'}`,
    `another body is ${otherBody ? 'refused' : 'ACCEPTED'}, in flight ${otherBodyInFlight ? 'refused' : 'ACCEPTED'}`,
    `the reply comes ${sameReply ? 'again as it was' : 'again CHANGED'}`,
    `its cookie is ${noCookie ? 'not replayed' : 'REPLAYED'}`,
  ]
}

/** @param {import('./correct.mjs').Correctness | undefined} correct */
function isRight(correct) {
  if (!correct) return false
  const { runs, ...rules } = correct
  return runs === 1 && Object.values(rules).every(Boolean)
}

/**
 * @param {string} flag
 * @param {string} text
 */
function number(flag, text) {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`${flag} must be a number above 0, not "${text}"`)
  return value
}

/** @param {string} text */
function say(text) {
  process.stdout.write(`${text}\n`)
}
