import { memoryKeys } from 'hookonce/keys'
import { nextKeys } from 'hookonce/keys/next'

let runs = 0
const keys = nextKeys({ store: memoryKeys(), tenant: (request) => request.cookies.get('user').value })

export const POST = keys(async (request, { params }, { step }) => {
  runs++
  const order = await request.json()
  if (order.fail) throw new Error('boom')
  const charge = await step('charge', () => 'ch_1')
  return Response.json(
    { order, ...(await params), path: request.nextUrl.pathname, charge, runs },
    { status: 201, headers: { location: '/orders/7', 'set-cookie': 'session=secret' } },
  )
})
