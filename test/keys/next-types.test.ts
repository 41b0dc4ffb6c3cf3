import { expect, expectTypeOf, test } from 'vitest'
import { nextKeys } from '../../src/keys/http/adapters/next.ts'
import { memoryKeys } from '../../src/keys/index.ts'

/* The test is that this compiles as documented: types are inferred. */
const store = memoryKeys()

/** Like a handler of Next.js. */
class OwnRequest extends Request {
  readonly nextUrl = new URL(this.url)
}

const asking = { method: 'POST', body: '1', headers: { 'idempotency-key': 'one' } }
const route = (shop: string) => ({ params: Promise.resolve({ shop }) })

test('a route handler needs no types of its own', async () => {
  const POST = nextKeys({ store, tenant: 'global' })(async (request, { params }, { step }) => {
    expectTypeOf(request).toEqualTypeOf<Request>()
    const { shop } = await params
    return Response.json(await step('charge', () => `${shop} ${new URL(request.url).pathname}`))
  })
  const reply = await POST(new Request('http://app.test/orders', asking), route('berlin'))
  expect(await reply.json()).toBe('berlin /orders')
})

test('the request is the one that `tenant` takes, and the route the one that the handler takes', async () => {
  const tenant = (request: OwnRequest) => request.nextUrl.hostname
  const POST = nextKeys({ store, tenant })(
    async (request, { params }: { params: Promise<{ shop: string }> }) => {
      expectTypeOf(request).toEqualTypeOf<OwnRequest>()
      const { shop } = await params
      expectTypeOf(shop).toEqualTypeOf<string>()
      return new Response(`${shop} ${request.nextUrl.pathname}`)
    },
  )
  const reply = await POST(new OwnRequest('http://app.test/orders', asking), route('berlin'))
  expect(await reply.text()).toBe('berlin /orders')
})

test('a route without parameters', async () => {
  const POST = nextKeys({ store, tenant: (request: Request) => request.url })(
    async () => new Response('done'),
  )
  const reply = await POST(new Request('http://app.test/orders', asking), { params: Promise.resolve({}) })
  expect(await reply.text()).toBe('done')
})
