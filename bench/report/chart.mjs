// @ts-check
import { writeResult } from './json.mjs'
import { unitOf, whole } from './table.mjs'

const WIDTH = 760
const LABELS = 150
const VALUES = 150
const BAR = 24
const GAP = 12
const TOP = 74
const BOTTOM = 34

/**
 * Bars of the rates, longest first. A thin line on each shows its lowest and highest round. The
 * background is painted, so that the chart looks the same on a light and on a dark page.
 * @param {import('./summary.mjs').Summary} summary
 */
export async function writeChart(summary) {
  // At a common rate all bars have the same length, so only the table is useful.
  if (summary.options.mode === 'latency') return
  await writeResult(`${summary.options.mode}.svg`, chartOf(summary))
}

/** @param {import('./summary.mjs').Summary} summary */
function chartOf(summary) {
  const { options, versions, measuredAt } = summary
  const lines = [...summary.lines].sort((a, b) => b.perSecond - a.perSecond)
  const longest = Math.max(...lines.map(({ highest }) => highest))
  const height = TOP + lines.length * (BAR + GAP) + BOTTOM
  const scale = (WIDTH - LABELS - VALUES) / longest
  const title = {
    accept: 'Webhook deliveries accepted per second',
    'end-to-end': 'Webhook events per second, from delivery to business row',
    latency: '',
    drain: 'Jobs per second from a standing backlog',
  }[options.mode]
  const load =
    options.mode === 'drain'
      ? `${whole(options.backlog)} jobs`
      : `${options.bodyBytes} bytes, ${options.duplicates} % duplicates, ${options.connections} connections`
  const setting = `${load} · fsync on · median of ${options.rounds} alternating rounds · higher is better`
  const cores = /** @type {{ cores: number }} */ (summary.machine).cores
  const foot = `${cores} cores, load generator included · Node ${versions.node} · PostgreSQL ${versions.postgres} · ${measuredAt.slice(0, 10)}`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}" font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">
<rect width="${WIDTH}" height="${height}" rx="8" fill="#ffffff"/>
<text x="20" y="32" font-size="18" font-weight="600" fill="#111827">${escaped(title)}</text>
<text x="20" y="54" font-size="12" fill="#4b5563">${escaped(setting)}</text>
${lines.map((line, index) => bar(line, { y: TOP + index * (BAR + GAP), scale, unit: unitOf(options.mode) })).join('\n')}
<text x="20" y="${height - 14}" font-size="11" fill="#6b7280">${escaped(foot)}</text>
</svg>
`
}

/**
 * @param {import('./summary.mjs').Line} line
 * @param {{ y: number, scale: number, unit: string }} at
 */
function bar(line, { y, scale, unit }) {
  const length = Math.max(1, line.perSecond * scale)
  const middle = y + BAR / 2
  const colour = { hookonce: '#0f766e', 'verify-only': '#d1d5db' }[line.name] ?? '#94a3b8'
  const weight = line.name === 'hookonce' ? 600 : 400
  const from = (LABELS + line.lowest * scale).toFixed(1)
  const to = (LABELS + line.highest * scale).toFixed(1)
  const valueAt = LABELS + Math.max(length, line.highest * scale) + 8
  return [
    `<text x="${LABELS - 10}" y="${middle + 5}" font-size="14" font-weight="${weight}" text-anchor="end" fill="#111827">${escaped(line.name)}</text>`,
    `<rect x="${LABELS}" y="${y}" width="${length.toFixed(1)}" height="${BAR}" rx="3" fill="${colour}"/>`,
    `<line x1="${from}" x2="${to}" y1="${middle}" y2="${middle}" stroke="#111827" stroke-width="1.5"/>`,
    `<text x="${valueAt.toFixed(1)}" y="${middle + 5}" font-size="13" font-weight="${weight}" fill="#111827">${whole(line.perSecond)} ${unit}</text>`,
  ].join('\n')
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
