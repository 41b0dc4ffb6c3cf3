/** Random numbers from a seed. */
export interface Random {
  /** A whole number from 0 to `below`, exclusive. */
  whole(below: number): number
}

/** Mulberry32: small, and good enough to choose schedules. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  return { whole: (below) => Math.floor(next() * below) }
}
