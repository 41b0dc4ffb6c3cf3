// Runs before the dashboard of the demo: answers its requests from what was recorded. Read-only.
{
  const { at, answers, search } = globalThis.RECORDED
  const network = globalThis.fetch
  const api = new URL('api/v1', document.baseURI).href
  const problem = (status, title, detail) =>
    new Response(JSON.stringify({ type: 'about:blank', status, title, detail }), {
      status,
      headers: { 'content-type': 'application/problem+json' },
    })

  const json = (body) =>
    new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } })

  const idleStream = () => {
    const encoder = new TextEncoder()
    let timer
    return new ReadableStream({
      start(controller) {
        controller.enqueue(encoder.encode('data: {"type":"open"}\n\n'))
        timer = setInterval(() => controller.enqueue(encoder.encode(': still here\n\n')), 15_000)
      },
      cancel: () => clearInterval(timer),
    })
  }

  globalThis.fetch = async (address, options = {}) => {
    const url = String(address.url ?? address)
    if (!url.startsWith(api)) return network(address, options)
    if ((options.method ?? 'GET') !== 'GET')
      return problem(403, 'This is a recording', 'The demo shows recorded answers and changes nothing.')
    const path = url.slice(api.length)
    // A stream on which nothing happens.
    if (path.startsWith('/stream'))
      return new Response(idleStream(), { headers: { 'content-type': 'text/event-stream' } })
    const { pathname, searchParams } = new URL(path, 'http://recorded')
    if (pathname === '/events') return json(search(searchParams))
    const found = answers[path]
    if (found)
      return new Response(found.body, { status: found.status, headers: { 'content-type': found.type } })
    // The recording ends where the list continues.
    if (searchParams.has('cursor')) return json({ data: [], next: null, previous: null })
    return problem(404, 'Not recorded', 'This was not recorded for the demo.')
  }

  // Times in the recording are shown as on the day of the recording.
  const shift = Date.now() - at
  const RealDate = Date
  globalThis.Date = class extends RealDate {
    constructor(...args) {
      if (args.length === 0) super(RealDate.now() - shift)
      else super(...args)
    }
    static now() {
      return RealDate.now() - shift
    }
  }

  const note = document.createElement('p')
  const events = search(new URLSearchParams({ limit: 1e6 })).data.length
  note.textContent = `A recording of hookonce, read-only, with ${events} events`
  note.style.cssText =
    'position:fixed;right:12px;bottom:8px;z-index:9;margin:0;padding:4px 10px;border-radius:6px;font:12px system-ui;background:#3550c8;color:#fff'
  addEventListener('DOMContentLoaded', () => document.body.append(note))
}
