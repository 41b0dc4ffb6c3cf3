import type { Message, Publish } from '../publishers/contract.ts'
import { toHttp } from '../publishers/http.ts'
import { slackChannel } from './channels/slack.ts'
import { smtpChannel } from './channels/smtp.ts'
import type { AlertChannel, CheckedAlerts } from './config.ts'
import { alertMessageSchema } from './message.ts'

/** Topics of the outbox that only alerts use. Publishers of the user do not get them. */
const TOPIC_PREFIX = 'hookonce.alerts.'

export function isAlertTopic(topic: string): boolean {
  return topic.startsWith(TOPIC_PREFIX)
}

export function alertTopic(channel: string): string {
  return `${TOPIC_PREFIX}${channel}`
}

/** The publishers of all channels, by topic. */
export function alertPublishers({ channels }: CheckedAlerts): Record<string, Publish> {
  return Object.fromEntries(
    Object.entries(channels).map(([name, channel]) => [alertTopic(name), publisherOf(channel)]),
  )
}

/** A generic webhook gets the payload as it is, signed. The other channels get text. */
export function publisherOf(channel: AlertChannel): Publish {
  if (channel.type === 'webhook') return toHttp({ url: channel.url, secret: channel.secret })
  const send = channel.type === 'slack' ? slackChannel(channel) : smtpChannel(channel)
  return ({ id, payload }: Message, { signal }) => send(alertMessageSchema.parse(payload), { id, signal })
}
