import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** The comments of GitHub's API, over HTTP. Like GitHub, it ignores an Idempotency-Key. */
export async function startFakeGitHub() {
  const comments: { readonly path: string; readonly body: string }[] = []
  const server = createServer(async (request, response) => {
    const [path = ''] = (request.url ?? '').split('?')
    if (request.method === 'POST') comments.push({ path, ...((await json(request)) as { body: string }) })
    response.end(JSON.stringify(comments.filter((comment) => comment.path === path)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    comments,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}
