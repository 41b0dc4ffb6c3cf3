// The times at which seeded events arrived: over 30 days, increasing towards the end, with days and
// nights.

export const DAYS = 30

/**
 * SQL: how long before now the event at place `x` (0: the oldest, 1: the newest) arrived, in days.
 * `luck` is between 0 and 1.
 */
export const AGE_DAYS = (x, luck) => {
  const left = `(1 - ${x})`
  const age = `(${DAYS} * (0.75 * ${left} + 0.25 * ${left} * ${left}))`
  // The slope of the sine stays below 1, so that later places are younger, except for the minutes
  // that `luck` adds.
  const wave = `0.07 * (sin(2 * pi() * (${age} + 0.2)) - sin(0.4 * pi()))`
  return `greatest(0, ${age} + ${wave} + (${luck} - 0.5) * least(${age} / 2, 0.02))`
}

/** Periods in which a subscriber failed often: most failures are there. */
export const INCIDENTS = [
  { from: 0.3, to: 0.32, subscribers: ['fulfilment'] },
  { from: 0.7, to: 0.72, subscribers: ['billing'] },
  { from: 0.955, to: 0.975, subscribers: ['crm'] },
]
