import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Random, randomOf } from '../chaos/random.ts'

/*
 * Runs the cases of one target. Each case has its own seed, so a failure can be repeated without
 * the earlier cases: `npm run fuzz -- --target … --seed … --first N --cases 1`.
 */
export interface FuzzTarget {
  readonly name: string
  /** The number of cases in `npm test`: some seconds. */
  readonly cases: number
  /** The number of parallel cases, for cases that wait for another process. */
  readonly atOnce?: number
}

export interface FuzzRun {
  readonly cases: number
  readonly seed: number
  readonly first: number
}

/** scripts/fuzz.mjs sets the variables. */
export function fuzzRun({ cases }: Pick<FuzzTarget, 'cases'>): FuzzRun {
  const { FUZZ_CASES, FUZZ_SEED, FUZZ_FIRST } = process.env
  return {
    cases: Number(FUZZ_CASES ?? cases),
    seed: Number(FUZZ_SEED ?? Date.now() % 1_000_000),
    first: Number(FUZZ_FIRST ?? 0),
  }
}

/** A prime, so that the seeds of neighbouring runs share no case. */
const SPREAD = 1_000_003
/** A case of some kilobytes that computes for longer than this counts as endless. */
const MAX_CASE_CPU_MS = 2_000
/** After this many cases, the event loop gets a turn and the progress is checked. */
const STRIDE = 500
const REPORT_EVERY_MS = 60_000

export async function fuzz(
  target: FuzzTarget,
  play: (random: Random, index: number) => undefined | Promise<void>,
): Promise<void> {
  const { cases, seed, first } = fuzzRun(target)
  const startedAt = performance.now()
  const cpuBefore = process.cpuUsage()
  const heapBefore = usedHeap()
  let next = first
  let reportedAt = startedAt

  async function playOne(index: number): Promise<void> {
    const caseCpu = process.cpuUsage()
    try {
      const playing = play(randomOf(seed + index * SPREAD), index)
      if (playing) await playing
      else requireQuick(caseCpu)
    } catch (error) {
      const repeat = `npm run fuzz -- --target ${target.name} --seed ${seed} --first ${index} --cases 1`
      throw new Error(
        `case ${index}: ${error instanceof Error ? error.message : String(error)}\nrepeat it: ${repeat}`,
        {
          cause: error,
        },
      )
    }
  }

  async function playSome(): Promise<void> {
    while (next < first + cases) {
      const index = next
      next += 1
      await playOne(index)
      if (index % STRIDE > 0) continue
      await turn()
      if (performance.now() - reportedAt < REPORT_EVERY_MS) continue
      reportedAt = performance.now()
      say(index - first + 1)
    }
  }

  function say(count: number): void {
    const seconds = (performance.now() - startedAt) / 1_000
    const { user, system } = process.cpuUsage(cpuBefore)
    const perCpuSecond = Math.round((count * 1_000_000) / (user + system))
    const rate = `${seconds.toFixed(1)} s, ${Math.round(count / seconds)} per second, ${perCpuSecond} per CPU second`
    process.stdout.write(`fuzz ${target.name}: ${count} cases, --seed ${seed}, ${rate}\n`)
  }

  await Promise.all(Array.from({ length: target.atOnce ?? 1 }, playSome))
  say(cases)
  const grownBy = usedHeap() - heapBefore
  if (grownBy > MAX_GROWTH_BYTES) throw new Error(`the heap grew by ${grownBy} bytes in ${cases} cases`)
}

function requireQuick(before: NodeJS.CpuUsage): void {
  const { user, system } = process.cpuUsage(before)
  const ms = (user + system) / 1_000
  if (ms > MAX_CASE_CPU_MS) throw new Error(`it took ${Math.round(ms)} ms of CPU time`)
}

/** Caches of the code under test are bounded far below this. */
const MAX_GROWTH_BYTES = 64 * 1024 * 1024

/** Measured after a garbage collection. */
function usedHeap(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
