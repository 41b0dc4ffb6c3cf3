import { redisKeys } from 'hookonce/keys'
import type { Settings } from './receiver.ts'

/** From the environment. One connection per instance of the function: it outlives an invocation. */
export function settings(): Settings {
  return {
    store: redisKeys({ url: required('REDIS_URL') }),
    stripeSecret: required('STRIPE_WEBHOOK_SECRET'),
    mailUrl: required('MAIL_URL'),
  }
}

function required(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`set ${name}`)
  return value
}
