import { provider } from '../provider.ts'

export const youtube = provider({
  provider: 'youtube',
  about: {
    name: 'YouTube push (PubSubHubbub / WebSub)',
    category: 'social',
    confidence: 'verified',
    evidence: [
      'github.com/pubsubhubbub/PubSubHubbub:pubsubhubbub-core-0.4.xml',
      'github.com/w3c/websub:index.html',
    ],
    unverified: ['the attributes of a deleted entry', 'how long the hub retries; hookonce assumes a week'],
    notes: [
      'Subscribe with `hub.secret`. Without it nothing is signed, and every delivery is rejected.',
      'Renew the subscription before its lease ends.',
      'Unsubscribing is not confirmed, because anyone could request it. A subscription ends with its lease.',
      'The type is `entry` or `at:deleted-entry`. A notification with several entries is one event, identified by its body.',
      'The protocol requires 2xx even for a bad signature. hookonce rejects it.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha1',
    header: 'x-hub-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha1=' },
  },
  body: 'xml',
  event: {
    key: [
      {
        hash: [
          ['json:feed.entry.yt:videoId', 'json:feed.at:deleted-entry.@ref'],
          ['json:feed.entry.updated', 'json:feed.at:deleted-entry.@when'],
        ],
      },
      'body-hash',
    ],
    type: { present: ['json:feed.entry', 'json:feed.at:deleted-entry'] },
    objectId: ['json:feed.entry.yt:videoId', 'json:feed.at:deleted-entry.@ref'],
    occurredAt: { at: ['json:feed.entry.updated', 'json:feed.at:deleted-entry.@when'], unit: 'iso' },
    object: ['json:feed.entry', 'json:feed.at:deleted-entry'],
  },
  handshake: [
    {
      method: 'GET',
      when: { 'query:hub.mode': 'subscribe', 'query:hub.topic': true, 'query:hub.challenge': true },
      signed: false,
      reply: { text: '{query:hub.challenge}' },
    },
  ],
})
