import { expect, test } from 'vitest'
import { crashRun, modes } from '../../support/crash-run.ts'

/*
 * Real processes are killed and frozen at random points of the protocol, against a real database
 * and a recording server. `npm run crash -- --runs 500 [--mode keyed] [--seed 1]` makes more runs.
 * A failure prints the command that repeats it.
 */
const runs = Number(process.env.CRASH_RUNS ?? 1)
const firstSeed = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 1e9))
const wanted = modes.filter((mode) => mode === (process.env.CRASH_MODE ?? mode))
/** A run spends most of its time waiting for a lease to end. */
const AT_ONCE = 4

test(
  `work that was stopped at any point happens once: ${runs} runs of ${wanted.join(', ')} from seed ${firstSeed}`,
  async () => {
    const due = Array.from({ length: runs }, (_, n) =>
      wanted.map((mode) => ({ mode, seed: firstSeed + n })),
    ).flat()
    const crashes = new Map<string, number>()
    const failures: string[] = []
    let done = 0
    async function work(): Promise<void> {
      for (let next = due.shift(); next !== undefined; next = due.shift()) {
        const { mode, seed } = next
        const run = await crashRun(mode, seed)
        done += 1
        if (done % 100 === 0) process.stdout.write(`${done} runs, ${failures.length} failed\n`)
        for (const crash of run.crashes) crashes.set(crash, (crashes.get(crash) ?? 0) + 1)
        if (run.fault === undefined) continue
        const repeat = `npm run crash -- --runs 1 --mode ${mode} --seed ${seed}`
        process.stdout.write(`${mode}, ${run.fault}\n  ${repeat}\n`)
        failures.push(repeat)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    if (process.env.CRASH_RUNS !== undefined) {
      const lines = [...crashes].sort().map(([point, count]) => `${String(count).padStart(5)}  ${point}`)
      process.stdout.write(`${lines.join('\n')}\n`)
    }
    expect(failures).toEqual([])
    expect(crashes.size).toBeGreaterThan(0)
  },
  // Far more than usual: on a busy machine leases are lost, and runs are repeated.
  60_000 + runs * wanted.length * 30_000,
)
