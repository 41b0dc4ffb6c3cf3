import { createReceiver } from './receiver.ts'
import { settings } from './settings.ts'

/** AWS Lambda behind a function URL, API Gateway or a load balancer. */
export const handler = createReceiver(settings()).lambda()
