import { createServer } from 'node:http'
import { inline } from 'hookonce/inline'
import { redisKeys } from 'hookonce/keys'
import { stripe } from 'hookonce/sources'

const store = redisKeys({ url: process.env.REDIS_URL })
const handle = async (event, { step }) => {
  // A run that follows a failure or a crash does not repeat finished steps.
  await step('receipt', ({ idempotencyKey }) => sendReceipt(event.objectId, idempotencyKey))
}
const hooks = inline(stripe({ secret: process.env.STRIPE_WEBHOOK_SECRET }), handle, {
  store,
  types: ['invoice.paid'],
})
createServer(hooks.node).listen(process.env.PORT ?? 3000)

async function sendReceipt(invoice, idempotencyKey) {
  console.log(`receipt for ${invoice}, Idempotency-Key: ${idempotencyKey}`)
}
