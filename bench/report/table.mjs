// @ts-check

/** @typedef {import('./summary.mjs').Summary} Summary */
/** @typedef {import('./summary.mjs').Line} Line */

/**
 * The table of all contenders, each compared with the ceiling and with hookonce.
 * @param {Summary} summary
 */
export function tableOf(summary) {
  const { lines, options, facts } = summary
  const ceiling = lines.find(({ name }) => name === 'verify-only')
  const ours = lines.find(({ name }) => name === 'hookonce')
  const columns = [
    { head: 'contender', of: (/** @type {Line} */ line) => line.name, left: true },
    { head: unitOf(options.mode), of: (/** @type {Line} */ line) => whole(line.perSecond) },
    {
      head: 'lowest–highest',
      of: (/** @type {Line} */ line) => `${whole(line.lowest)}–${whole(line.highest)}`,
    },
    ...(ceiling
      ? [
          {
            head: 'of verify-only',
            of: (/** @type {Line} */ line) => percent(line.perSecond / ceiling.perSecond),
          },
        ]
      : []),
    ...(ours && options.mode !== 'latency'
      ? [{ head: 'hookonce is', of: (/** @type {Line} */ line) => times(ours.perSecond / line.perSecond) }]
      : []),
    ...(lines.some(({ p50 }) => p50 !== undefined)
      ? [
          { head: 'p50 ms', of: (/** @type {Line} */ line) => milliseconds(line.p50) },
          { head: 'p99 ms', of: (/** @type {Line} */ line) => milliseconds(line.p99) },
        ]
      : []),
    ...(lines.some(({ cpu }) => cpu)
      ? [{ head: 'CPU µs: server+store+generator', of: (/** @type {Line} */ line) => cost(line.cpu) }]
      : []),
    ...(options.mode === 'latency'
      ? [{ head: 'generator late p99', of: (/** @type {Line} */ line) => milliseconds(line.generatorP99) }]
      : []),
    { head: 'version', of: (/** @type {Line} */ line) => line.version ?? '', left: true },
    { head: 'how', of: (/** @type {Line} */ line) => line.does, left: true },
  ]
  const cells = [columns.map(({ head }) => head), ...lines.map((line) => columns.map(({ of }) => of(line)))]
  const widths = columns.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const text = cells.map((row) =>
    row
      .map((cell, column) =>
        columns[column]?.left ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  )
  text.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('  '))
  text.push('', noteOf(options.mode, facts))
  return text.join('\n')
}

/** @param {import('../options.mjs').Mode} mode */
export function unitOf(mode) {
  return { accept: 'accepted/s', 'end-to-end': 'events/s', latency: 'answered/s', drain: 'jobs/s' }[mode]
}

/**
 * @param {import('../options.mjs').Mode} mode
 * @param {{ rate?: number }} facts
 */
function noteOf(mode, { rate }) {
  return {
    accept:
      'p50 and p99 are those of a saturated server (closed loop); --mode latency measures at half of the peak.',
    'end-to-end':
      'events/s: unique events from the first delivery to the last business row; p50 and p99 are of the acknowledgement.',
    latency: `Open loop at ${rate}/s for all: half of the slowest one's peak. Latency counts from when a delivery was due.`,
    drain: 'From the start of one worker process to the last completed job; handlers do nothing.',
  }[mode]
}

/** @param {number} value */
export function whole(value) {
  return Math.round(value).toLocaleString('en-US')
}

/** @param {number} share */
function percent(share) {
  return `${Math.round(share * 100)} %`
}

/** @param {number} ratio */
function times(ratio) {
  return `${ratio.toFixed(2)}×`
}

/** @param {Line['cpu']} cpu */
function cost(cpu) {
  return cpu ? `${whole(cpu.server)}+${whole(cpu.store)}+${whole(cpu.generator)}` : ''
}

/** @param {number | undefined} value */
function milliseconds(value) {
  return value === undefined ? '' : value.toFixed(value < 10 ? 2 : 1)
}
