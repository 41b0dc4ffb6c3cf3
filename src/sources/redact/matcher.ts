import type { Path, Step } from './rules.ts'

/*
 * Follows many paths through a document at once. The progress of each path is a set of its steps,
 * stored as bits: bit N means that step N is the next to match. So the work per member is bounded
 * by the rules, at any depth of nesting.
 */

/** The progress of each path, as one number. */
export type Progress = readonly number[]

/** A member's name, or an element's index. */
export type Key = string | number

export class Matcher {
  readonly start: Progress
  readonly #paths: readonly Path[]

  constructor(paths: readonly Path[]) {
    this.#paths = paths
    this.start = paths.map((path) => closed(path, 1))
  }

  /** The progress at a member or element. Undefined: no path leads there. */
  below(progress: Progress, key: Key): Progress | undefined {
    let found: number[] | undefined
    for (const [index, path] of this.#paths.entries()) {
      const next = advanced(path, progress[index] ?? 0, key)
      if (next === 0) continue
      found ??= this.#paths.map(() => 0)
      found[index] = next
    }
    return found
  }

  /** Whether a path ends here: the value is hidden. */
  isHidden(progress: Progress): boolean {
    return this.#paths.some((path, index) => ((progress[index] ?? 0) & (1 << path.length)) !== 0)
  }
}

function advanced(path: Path, bits: number, key: Key): number {
  if (bits === 0) return 0
  let next = 0
  for (const [at, step] of path.entries()) {
    if ((bits & (1 << at)) === 0) continue
    if (step.is === 'deep') next |= 1 << at
    else if (matches(step, key)) next |= 1 << (at + 1)
  }
  return closed(path, next)
}

/** `**` may also match no level, so the step after it is next as well. */
function closed(path: Path, bits: number): number {
  let next = bits
  for (const [at, step] of path.entries())
    if (step.is === 'deep' && (next & (1 << at)) !== 0) next |= 1 << (at + 1)
  return next
}

/** `items.0` and `items[0]` are equal: a rule in another spelling must still hide the value. */
function matches(step: Step, key: Key): boolean {
  if (step.is === 'any') return true
  if (step.is === 'name') return step.name === String(key)
  return step.is === 'index' && String(step.index) === String(key)
}
