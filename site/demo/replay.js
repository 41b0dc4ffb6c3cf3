// Runs before the dashboard of the demo: answers its requests from what was recorded. Read-only.
{
  const { at, answers } = globalThis.RECORDED
  const byPath = new Map()
  for (const [address, answer] of Object.entries(answers)) {
    const path = address.split('?')[0]
    if (!byPath.has(path)) byPath.set(path, answer)
  }
  const network = globalThis.fetch
  const api = new URL('api/v1', document.baseURI).href
  const problem = (status, title, detail) =>
    new Response(JSON.stringify({ type: 'about:blank', status, title, detail }), {
      status,
      headers: { 'content-type': 'application/problem+json' },
    })

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
    const found = answers[path] ?? byPath.get(path.split('?')[0])
    if (!found)
      return problem(
        404,
        'Not recorded',
        'This was not recorded for the demo. Open one of the first events of the list.',
      )
    return new Response(found.body, { status: found.status, headers: { 'content-type': found.type } })
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
  note.textContent = 'A recording of hookonce, read-only'
  note.style.cssText =
    'position:fixed;right:12px;bottom:8px;z-index:9;margin:0;padding:4px 10px;border-radius:6px;font:12px system-ui;background:#3550c8;color:#fff'
  addEventListener('DOMContentLoaded', () => document.body.append(note))
}
