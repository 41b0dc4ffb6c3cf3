// Measures the list of events of the dashboard in Chromium, on a large ledger:
//   node scripts/dashboard-latency.mjs [--receipts 1000000] [--runs 40] [--seed 1]
// DATABASE_URL names a ledger that scripts/seed-ledger.mjs has filled: it is measured as it is.
// Prints p50 and p95 of each interaction, from the input to the next painted frame that shows its
// result, with the requests that it needs; and the CPU time that it takes, which other work on the
// machine does not change. Then the times of frames while the list scrolls.
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { cpuMeter } from './seeding/cpu-time.mjs'
import { percentile } from './seeding/percentile.mjs'
import { withSeededGateway } from './seeding/seeded-gateway.mjs'
import { withPage } from './seeding/signed-in.mjs'

const { values } = parseArgs({
  options: {
    receipts: { type: 'string', default: '1000000' },
    runs: { type: 'string', default: '40' },
    seed: { type: 'string', default: '1' },
  },
})
const receipts = Number(values.receipts)
const runs = Number(values.runs)
/** Each kind of token, with frequent and rare matches, alone and with another one. */
const SEARCHES = [
  'source:shopify',
  'type:invoice.*',
  'state:failed',
  'since:7d',
  'source:github type:push',
  'state:processing',
  'type:payout.paid',
  'type:invoice.* state:failed',
  'error:customer',
  'source:stripe since:7d',
]

// Runs in the page. The time ends after the frame in which the result was there was painted.
const IN_PAGE = `
  window.grid = () => document.querySelector('[role=grid]')
  window.rows = () => [...document.querySelectorAll('[role=grid] [aria-rowindex]')]
  window.press = (key, more = {}) =>
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }))
  window.painted = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
  window.measure = async (act, isDone) => {
    const began = performance.now()
    act()
    for (;;) {
      await painted()
      if (isDone()) return performance.now() - began
      if (performance.now() - began > 30000) throw new Error('waited 30 s for ' + isDone)
    }
  }
  window.field = () => document.querySelector('search input')
  window.type = async (text) => {
    field().focus()
    field().value = text
    field().dispatchEvent(new Event('input', { bubbles: true }))
    await painted()
  }
  window.submit = () =>
    field().dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))`

const databaseUrl = process.env.DATABASE_URL
await withSeededGateway(
  { receipts, seed: Number(values.seed), databaseUrl },
  async ({ adminPort, pool, pid }) => {
    const context = { viewport: { width: 1280, height: 800 } }
    await withPage({ adminPort, context }, async (page, base) => {
      await page.addInitScript(IN_PAGE)
      const times = {}
      const cpu = await cpuMeter({ page, pool, gatewayPid: pid })
      const take = async (name, act, isDone) => {
        const before = await cpu()
        const time = await page.evaluate(`measure(() => { ${act} }, () => ${isDone})`)
        const after = await cpu()
        const used = (part) => after[part] - before[part]
        const taken = { time, page: used('browser'), server: used('gateway') + used('database') }
        times[name] = [...(times[name] ?? []), taken]
        return taken
      }
      const searches = {}
      await openList(page, base)
      for (let run = 0; run < runs; run += 1) {
        await take(
          'move to the next row (j)',
          `window.was = document.querySelector('.row.active'); press('j')`,
          `document.querySelector('.row.active') !== was`,
        )
        await take(
          'select a row (x)',
          `window.before = document.querySelectorAll('[aria-selected=true]').length; press('x')`,
          `document.querySelectorAll('[aria-selected=true]').length !== before`,
        )
        await take(
          'scroll by 50 rows',
          `window.top0 = grid().scrollTop + 50 * 34; grid().scrollTop = top0`,
          `grid().scrollTop < top0 - 34 || covers()`,
        )
        const query = SEARCHES[run % SEARCHES.length]
        await page.evaluate(`type(${JSON.stringify(query)})`)
        const taken = await take(
          'search',
          'window.old = rows()[0]; submit()',
          `location.search.length > 1 && rows().length > 0 && rows()[0] !== old`,
        )
        searches[query] = [...(searches[query] ?? []), taken]
        await page.evaluate(`press('j'), painted()`)
        await take(
          'open an event (enter)',
          `press('Enter')`,
          `document.querySelector('.timeline') && /events\\/[0-9a-f]/.test(location.pathname)`,
        )
        await take(
          'back to the list',
          `history.back()`,
          `location.pathname.endsWith('/events') && rows().length > 10`,
        )
        await openList(page, base)
      }
      print('interaction', times)
      print('search', searches)
      console.log(
        `load average of the machine: ${loadavg()[0].toFixed(1)} on ${availableParallelism()} cores`,
      )
      await printFrames(page)
    })
  },
)

async function openList(page, base) {
  await page.goto(`${base}/events`)
  await page.locator('[role=grid] [aria-rowindex]').nth(10).waitFor()
  // Whether rows fill the part of the list that is in view.
  await page.evaluate(`window.covers = () => {
    const { top, bottom } = grid().getBoundingClientRect()
    const places = rows().map((row) => row.getBoundingClientRect())
    return Math.min(...places.map((one) => one.top)) <= top + 70 && Math.max(...places.map((one) => one.bottom)) >= bottom - 70
  }`)
}

function print(what, times) {
  console.log(
    `\n${receipts.toLocaleString('en')} receipts, ${runs} runs, ms\n\n` +
      `| ${what} | p50 | p95 | CPU of the page, p50 | CPU of gateway and database, p50 |\n|---|---:|---:|---:|---:|`,
  )
  for (const [name, all] of Object.entries(times)) {
    const of = (part, rank) =>
      percentile(
        all.map((one) => one[part]),
        rank,
      ).toFixed(0)
    console.log(
      `| ${name} | ${of('time', 0.5)} | ${of('time', 0.95)} | ${of('page', 0.5)} | ${of('server', 0.5)} |`,
    )
  }
}

/** Scrolls for five seconds, by 60 px per frame, while pages of the list arrive. */
async function printFrames(page) {
  const frames = await page.evaluate(`(async () => {
    const frames = []
    const end = performance.now() + 5000
    let last = performance.now()
    while (performance.now() < end) {
      grid().scrollTop += 60
      const now = await new Promise(requestAnimationFrame)
      frames.push(now - last)
      last = now
    }
    return frames.slice(1)
  })()`)
  const late = frames.filter((time) => time > 50).length
  console.log(
    `\nframes while scrolling: p50 ${percentile(frames, 0.5).toFixed(1)} ms, p95 ${percentile(frames, 0.95).toFixed(1)} ms, ` +
      `${late} of ${frames.length} longer than 50 ms`,
  )
}
