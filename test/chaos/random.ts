/** Random numbers from a seed (mulberry32): a failed run can be repeated. */
export interface Random {
  /** From 0 to 1, exclusive. */
  next(): number
  /** A whole number from 0 to `below`, exclusive. */
  below(below: number): number
  pick<T>(list: readonly T[]): T
  shuffled<T>(list: readonly T[]): T[]
}

export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    next,
    below,
    pick<T>(list: readonly T[]) {
      const [picked] = list.slice(below(list.length))
      if (picked === undefined) throw new Error('there is nothing to pick from')
      return picked
    },
    shuffled: (list) =>
      list
        .map((item) => ({ item, place: next() }))
        .sort((a, b) => a.place - b.place)
        .map(({ item }) => item),
  }
}
