import { expect, test } from 'vitest'
import { backlog } from '../../../src/ledger/read/jobs.ts'
import { listAttention } from '../../../src/operate/attention.ts'
import { freshDatabase } from '../../support/database.ts'
import {
  effectModel,
  latestEffect,
  type Model,
  type ModelOptions,
  type ModelState,
} from '../../support/effect-model.ts'

/*
 * Explores liveness: every action is taken in every reachable state, breadth first. In each state
 * every waiting job is listed and can be moved, and from each state all jobs can be processed.
 */

/** The parts that distinguish two states. The two jobs are equal, so their order does not count. */
function nameOf(state: ModelState): string {
  const [a, b] = [0, 1].map((index) => oneSide(state, index))
  const both = [`${a} | ${b}`, `${b} | ${a}`].sort()
  const effect = latestEffect(state)
  return `${both[0]} | ${effect ? `${effect.state}${effect.reopened_at === null ? '' : ', reopened'}` : 'no effect'}`
}

function oneSide(state: ModelState, index: number): string {
  const job = state.jobs[index]
  if (!job) throw new Error(`no job ${index}`)
  const effect = latestEffect(state)
  const waits = state.attention.some((row) => row.receipt_id === job.receipt_id)
  const owns = effect?.receipt_id === job.receipt_id && effect.subscriber === job.subscriber
  const isLive = owns && job.state === 'processing' && job.fence === effect.fence
  const calls = state.call?.job.receiptId === job.receipt_id
  const words = [
    // Both jobs wait for a worker.
    job.state === 'retrying' ? 'received' : job.state,
    state.rows.filter(({ receipt_id: id }) => id === job.receipt_id).length > 1 && 'moved',
    waits && 'waits',
    owns && (effect.fence === 0 ? 'is to call' : isLive ? 'is at it' : 'called'),
    calls && (state.call?.job.fence === effect?.fence ? 'may tell' : 'lost it'),
  ]
  return words.filter(Boolean).join(', ')
}

interface Node {
  readonly state: ModelState
  /** The actions that first led to this state. */
  readonly path: readonly string[]
  readonly next: Set<string>
}

/** Every reachable state, with the faults that were found. */
async function explore(model: Model): Promise<{ nodes: Map<string, Node>; faults: string[] }> {
  const nodes = new Map<string, Node>()
  const faults: string[] = []
  const first = await model.read(undefined)
  const queue: Node[] = [{ state: first, path: [], next: new Set() }]
  nodes.set(nameOf(first), queue[0] as Node)
  for (let node = queue.shift(); node; node = queue.shift()) {
    const moved = new Set<string>()
    const areAlike = oneSide(node.state, 0) === oneSide(node.state, 1)
    for (const action of model.actions) {
      if (!action.isPossible(node.state) || (areAlike && action.job === 1)) continue
      await model.restore(node.state)
      const after = await model.read(await action.take(node.state))
      const name = nameOf(after)
      const path = [...node.path, action.name]
      if (action.isVerb) for (const id of movedJobs(node.state, after)) moved.add(id)
      if (!nodes.has(name)) {
        const found = { state: after, path, next: new Set<string>() }
        nodes.set(name, found)
        queue.push(found)
        faults.push(...(await faultsOf(model, after)).map((fault) => `${fault}: ${path.join(' → ')}`))
      }
      node.next.add(name)
    }
    for (const job of node.state.jobs) {
      if (job.state !== 'attention' || moved.has(job.receipt_id)) continue
      faults.push(`no verb moves a job in attention: ${node.path.join(' → ')}`)
    }
  }
  return { nodes, faults }
}

function movedJobs(before: ModelState, after: ModelState): string[] {
  return before.jobs
    .filter((job, index) => after.jobs[index]?.state !== job.state)
    .map((job) => job.receipt_id)
}

/** The rules that must hold in each state. The database is in this state now. */
async function faultsOf({ ledger }: Model, state: ModelState): Promise<string[]> {
  const faults: string[] = []
  const listed = await listAttention(ledger)
  const waiting = listed.flatMap(({ jobs }) => jobs.map(({ receiptId }) => receiptId))
  const effect = latestEffect(state)
  const isUnknown = effect?.state === 'unknown' && effect.reopened_at === null
  for (const { state: is, receipt_id: receiptId } of state.jobs) {
    if ((is === 'attention') !== waiting.includes(receiptId)) faults.push(`a job is ${is} and not listed so`)
    if (is !== 'failed') continue
    // Fence 0: an operator requested another call, which the next run makes.
    const isOpen = effect?.state === 'started' && effect.reopened_at === null && effect.fence !== 0
    // Whichever subscriber made the call: the job may have been moved.
    if (isOpen && effect.receipt_id === receiptId) faults.push('a job was given up with an open call')
  }
  const backlogs = await backlog(ledger.pool, ledger.shards)
  const unknown = backlogs.reduce((sum, { effectsUnknown }) => sum + effectsUnknown, 0)
  if (unknown !== (isUnknown ? 1 : 0)) faults.push(`${unknown} effects are unknown`)
  if (listed.length !== (isUnknown ? 1 : 0)) faults.push(`${listed.length} effects are listed`)
  return faults
}

/** States from which no path leads to the end: both jobs processed, and nothing to decide. */
function deadEnds(nodes: ReadonlyMap<string, Node>): string[] {
  const isEnd = ({ state }: Node): boolean =>
    state.jobs.every((job) => job.state === 'processed') && latestEffect(state)?.state !== 'unknown'
  const live = new Set([...nodes].filter(([, node]) => isEnd(node)).map(([name]) => name))
  for (let before = -1; before !== live.size; ) {
    before = live.size
    for (const [name, node] of nodes) if ([...node.next].some((next) => live.has(next))) live.add(name)
  }
  return [...nodes].filter(([name]) => !live.has(name)).map(([, { path }]) => path.join(' → '))
}

const KINDS: Record<string, ModelOptions> = {
  'atMostOnce, with calls that are told late': { effect: { mode: 'atMostOnce' }, isCutOff: true },
  'keyed, with calls that are told late': { effect: { mode: 'keyed' }, isCutOff: true },
  'jobs that are moved and discarded': {
    effect: { mode: 'atMostOnce' },
    isCutOff: false,
    areRemoved: true,
  },
  'the other side cannot tell': { effect: { reconcile: () => ({ outcome: 'unknown' }) }, isCutOff: false },
  'the other side cannot be asked': {
    effect: { reconcile: () => Promise.reject(new Error('it is down')) },
    isCutOff: false,
  },
}

test.each(Object.keys(KINDS))(
  'in every state of two jobs and an effect (%s) whoever waits is listed, a verb moves them, and all can be processed',
  async (kind) => {
    const options = KINDS[kind]
    if (!options) throw new Error(`no kind "${kind}"`)
    const { nodes, faults } = await explore(await effectModel(await freshDatabase(), options))
    expect(faults).toEqual([])
    expect(deadEnds(nodes)).toEqual([])
    // Otherwise too little was explored for this conclusion.
    expect(nodes.size).toBeGreaterThan(20)
  },
  // At most some fifteen seconds on an idle machine.
  300_000,
)
