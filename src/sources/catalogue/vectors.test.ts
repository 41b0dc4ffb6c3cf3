import { describe, expect, it } from 'vitest'
import type { Delivery, Source } from '../contract.ts'
import { adyen, sendgrid, slack, twilio } from '../index.ts'

/* Signatures that providers publish, as given: each case names where it is from. */

interface Vector {
  readonly evidence: string
  readonly source: Source
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
  readonly atMs?: number
}

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const CALL = {
  CallSid: 'CA1234567890ABCDE',
  Caller: '+14158675309',
  Digits: '1234',
  From: '+14158675309',
  To: '+18005551212',
}

const vectors: Vector[] = [
  {
    evidence: 'npm:@sendgrid/eventwebhook@8.0.0:src/eventwebhook.spec.js',
    source: sendgrid({
      secret:
        'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==',
    }),
    headers: {
      'x-twilio-email-event-webhook-signature':
        'MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=',
      'x-twilio-email-event-webhook-timestamp': '1600112502',
    },
    body: '[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n',
    atMs: 1_600_112_502_000,
  },
  {
    evidence: 'Slack: Verifying requests from Slack',
    source: slack({ secret: '8f742231b10e8888abcd99yyyzzz85a5' }),
    headers: {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
    body: 'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
    atMs: 1_531_420_618_000,
  },
  {
    evidence: 'github.com/Adyen/adyen-node-api-library:src/__tests__/hmacValidator.spec.ts',
    source: adyen({ secret: 'DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00' }),
    body: '{"live":"false","notificationItems":[{"NotificationRequestItem":{"pspReference":"pspReference","originalReference":"originalReference","merchantAccountCode":"merchantAccount","merchantReference":"reference","amount":{"currency":"EUR","value":1000},"eventCode":"EVENT","success":"true","additionalData":{"hmacSignature":"ipnxGCaUZ4l8TUW75a71/ghd2Fe5ffvX0pV4TLTntIc="}}}]}',
  },
  {
    evidence: 'github.com/twilio/twilio-node:spec/validation.spec.js (form)',
    source: twilio({ secret: '12345', url: 'https://mycompany.com/myapp.php?foo=1&bar=2' }),
    headers: { ...form, 'x-twilio-signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=' },
    body: new URLSearchParams(CALL).toString(),
  },
  {
    evidence: 'github.com/twilio/twilio-node:spec/validation.spec.js (JSON)',
    source: twilio({
      secret: '12345',
      url: 'https://mycompany.com/myapp.php?foo=1&bar=2&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620',
    }),
    headers: { 'content-type': 'application/json', 'x-twilio-signature': 'a9nBmqA0ju/hNViExpshrM61xv4=' },
    body: '{"property": "value", "boolean": true}',
  },
]

function arriving({ headers = {}, body, atMs = 0 }: Vector, changed = body): Delivery {
  return {
    method: 'POST',
    url: '/',
    header: (name) => headers[name],
    body: Buffer.from(changed),
    receivedAtMs: atMs,
  }
}

describe.each(vectors)('$evidence', (vector) => {
  it('verifies as published, and not when its body is changed', () => {
    expect(vector.source.verify(arriving(vector))).toEqual({ ok: true, secret: 1 })
    const changed = vector.body.replace(
      /EVENT"|email|xyzz|14158675309|property/,
      (text) => `${text.slice(1)}x`,
    )
    expect(vector.source.verify(arriving(vector, changed)).ok).toBe(false)
  })
})
