// The dashboard on recorded answers of the admin API: what a visitor of the site can try.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const HERE = dirname(fileURLToPath(import.meta.url))
const DASHBOARD = join(HERE, '../../dist/dashboard')

/** Every first view: each page with each of its tabs and periods. */
const VIEWS = [
  '/',
  '/?period=1h',
  '/?period=7d',
  '/events',
  '/failures',
  '/failures?period=24h',
  '/failures?period=7d',
  '/attention',
  '/rejections',
  '/outbox',
  '/outbox?state=failed',
  '/outbox?state=waiting',
  '/outbox?state=published',
  '/sources',
  '/destinations',
  '/captured',
  '/settings',
  '/settings?tab=audit',
  '/settings?tab=alerts',
  '/settings?tab=workers',
]

/** More would make the recording large. Links to other events show that they were not recorded. */
const MAX_NAMED = 200

/**
 * Visits every view of a dashboard that is signed in, and reads the newest events and all events
 * that another view names. Returns what the admin API answered, by path and query. `/events`
 * without a query is the list of all recorded events, newest first.
 */
export async function recordDashboard(page, { dashboard, events }) {
  const api = `${dashboard}/api/v1`
  const visited = await visit(page, { dashboard, api })
  const answers = Object.fromEntries(Object.entries(visited).filter(([path]) => !isEventList(path)))
  const read = async (path) => {
    const response = await page.request.get(api + path)
    const type = response.headers()['content-type'] ?? ''
    return response.ok() ? { status: response.status(), type, body: await response.text() } : undefined
  }
  const keep = async (path) => {
    const answer = await read(path)
    if (answer) answers[path] = answer
    return answer
  }

  const listed = await newestEvents(read, events)
  for (const id of namedEvents(answers).slice(0, MAX_NAMED)) {
    const found = listed.has(id) ? undefined : await read(`/events?q=${id}&limit=1`)
    for (const one of found ? JSON.parse(found.body).data : []) listed.set(one.id, one)
  }
  for (const id of listed.keys()) {
    const parts = ['', '?payloads=true', '/body', '/test', '/replay'].map((part) => `/events/${id}${part}`)
    const [chain] = await Promise.all(parts.map(keep))
    const { jobs } = JSON.parse(chain.body)
    const plans = jobs.map(({ subscriber }) => `/events/${id}/replay?${new URLSearchParams({ subscriber })}`)
    await Promise.all(plans.map(keep))
  }
  for (const id of namedMessages(answers)) await keep(`/outbox/${id}`)
  const data = [...listed.values()].sort((a, b) => Date.parse(b.receivedAt) - Date.parse(a.receivedAt))
  answers['/events'] = { status: 200, type: 'application/json', body: JSON.stringify({ data }) }
  return answers
}

const isEventList = (path) => /^\/events(\?|$)/.test(path)

async function visit(page, { dashboard, api }) {
  const answers = {}
  const keeping = []
  const keep = async (response, path) => {
    const type = response.headers()['content-type'] ?? ''
    // The answer to a page that was left has no body any more.
    const body = await response.text().catch(() => undefined)
    if (body !== undefined && response.ok()) answers[path] = { status: response.status(), type, body }
  }
  page.on('response', (response) => {
    const url = response.url()
    const isKept = url.startsWith(api) && response.request().method() === 'GET' && !url.includes('/stream')
    if (isKept) keeping.push(keep(response, url.slice(api.length)))
  })
  for (const path of VIEWS) {
    await page.goto(dashboard + path)
    // Several parts of a page load, one after the other.
    for (let quiet = 0; quiet < 3; quiet = (await page.locator('.skeleton').count()) === 0 ? quiet + 1 : 0)
      await page.waitForTimeout(100)
  }
  await Promise.all(keeping)
  return answers
}

/** The newest events, by their ids. */
async function newestEvents(read, most) {
  const listed = new Map()
  for (let cursor = ''; cursor !== null && listed.size < most; ) {
    const limit = Math.min(200, most - listed.size)
    const page = await read(`/events?limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`)
    const { data, next } = JSON.parse(page.body)
    for (const one of data) listed.set(one.id, one)
    cursor = next
  }
  return listed
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const NAMED = /"(?:receiptId|receiptIds|subject)":(?:\[[^\]]*\]|"[^"]*")/g

/** The events to which other views link, in the order of the views. */
function namedEvents(answers) {
  const texts = Object.values(answers).flatMap(({ type, body }) => (type.includes('json') ? [body] : []))
  const ids = texts.flatMap((text) => (text.match(NAMED) ?? []).flatMap((field) => field.match(UUID) ?? []))
  return [...new Set(ids)]
}

function namedMessages(answers) {
  const lists = Object.entries(answers).filter(([path]) => path.startsWith('/outbox?'))
  return new Set(lists.flatMap(([, { body }]) => JSON.parse(body).data.map(({ id }) => id)))
}

/** Writes the demo into a folder that is served at `base`, such as `/demo/`. */
export function writeDemo(folder, { base, answers }) {
  rmSync(folder, { recursive: true, force: true })
  cpSync(DASHBOARD, folder, { recursive: true, filter: (file) => !/\.(br|gz)$|manifest\.json$/.test(file) })
  const page = readFileSync(join(DASHBOARD, 'index.html'), 'utf8')
    .replace('<base href="/">', `<base href="${base}">`)
    .replace(
      '<script src="./theme.js"',
      '<script src="./recorded.js"></script>\n    <script src="./theme.js"',
    )
  writeFileSync(join(folder, 'index.html'), page)
  const [search, replay] = ['search.js', 'replay.js'].map((name) => readFileSync(join(HERE, name), 'utf8'))
  const recorded = JSON.stringify({ at: Date.now(), answers })
  writeFileSync(join(folder, 'recorded.js'), `globalThis.RECORDED = ${recorded}\n${search}${replay}`)
}
