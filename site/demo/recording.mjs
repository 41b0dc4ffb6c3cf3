// The dashboard on recorded answers of the admin API: what a visitor of the site can try.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const HERE = dirname(fileURLToPath(import.meta.url))
const DASHBOARD = join(HERE, '../../dist/dashboard')

const PAGES = [
  '/',
  '/events',
  '/failures',
  '/attention',
  '/rejections',
  '/outbox',
  '/sources',
  '/destinations',
  '/captured',
  '/settings',
]

/**
 * Visits every page of a dashboard that is signed in, and some events. Returns what the admin API
 * answered, by path and query.
 */
export async function recordDashboard(page, { dashboard, events }) {
  const api = `${dashboard}/api/v1`
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
  const settled = async () => {
    // Several parts of a page load, one after the other.
    for (let quiet = 0; quiet < 3; quiet = (await page.locator('.skeleton').count()) === 0 ? quiet + 1 : 0)
      await page.waitForTimeout(100)
  }
  for (const path of PAGES) {
    await page.goto(dashboard + path)
    await settled()
  }
  for (const id of listedEvents(answers).slice(0, events)) {
    await page.goto(`${dashboard}/events/${id}`)
    await settled()
    const body = page.getByRole('button', { name: 'Show the body' })
    if (await body.isVisible()) await body.click()
    await settled()
  }
  await Promise.all(keeping)
  return answers
}

function listedEvents(answers) {
  const lists = Object.entries(answers).filter(([path]) => /^\/events(\?|$)/.test(path))
  const ids = lists.flatMap(([, { body }]) => JSON.parse(body).data?.map(({ id }) => id) ?? [])
  return [...new Set(ids)]
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
  const replay = readFileSync(join(HERE, 'replay.js'), 'utf8')
  const recorded = JSON.stringify({ at: Date.now(), answers })
  writeFileSync(join(folder, 'recorded.js'), `globalThis.RECORDED = ${recorded}\n${replay}`)
}
