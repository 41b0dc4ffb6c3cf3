import { expect, test } from 'vitest'
import { check } from '../input/checked.ts'
import { HookonceError } from '../model/errors.ts'
import { alertsFileSchema, alertsSchema, resolvedAlerts, rulesOf } from './config.ts'

const SECRET = `whsec_${Buffer.from('the secret that signs what is sent').toString('base64')}`

const refusals: { name: string; options: unknown; says: string }[] = [
  {
    name: 'an unknown rule',
    options: { rules: { lags: {} } },
    says: 'rules: unknown "lags" (did you mean "lag"?); allowed: failures',
  },
  {
    name: 'a limit that is none',
    options: { rules: { lag: { seconds: 0 } } },
    says: 'rules.lag.seconds: must be more than 0; it is 0',
  },
  {
    name: 'a window that is longer than what is kept',
    options: { rules: { failures: { windowMinutes: 90 } } },
    says: 'rules.failures.windowMinutes: must be at most 60; it is 90',
  },
  { name: 'a rule that is turned off by a number', options: { rules: { lag: 0 } }, says: "must be 'off'" },
  {
    name: 'a channel of another type',
    options: { channels: { ops: { type: 'pigeon' } } },
    says: 'channels.ops.type: type must be "slack", "webhook" or "smtp"',
  },
  {
    name: 'a channel whose name is no topic',
    options: { channels: { 'a b': { type: 'slack', url: 'https://hooks.test/x' } } },
    says: 'a channel name is 1 to 64 letters',
  },
  {
    name: 'a mail server that is no URL',
    options: { channels: { m: { type: 'smtp', server: 'mail.test', from: 'a@b', to: ['a@b'] } } },
    says: 'channels.m.server: must be smtp://user:password@host:587',
  },
  {
    name: 'an address that would begin another header',
    options: { channels: { m: { type: 'smtp', server: 'smtp://h', from: 'a@b\r\nBcc: c@d', to: ['a@b'] } } },
    says: 'channels.m.from: must be a mail address',
  },
  {
    name: 'a rule of one source that does not exist',
    options: { sources: { stripe: { lags: 'off' } } },
    says: 'sources.stripe: unknown "lags"',
  },
]

for (const { name, options, says } of refusals)
  test(`refuses ${name}`, () => {
    const refused = (): unknown => check(alertsSchema, options, 'alerts')
    expect(refused).toThrow(HookonceError)
    expect(refused).toThrow(says)
  })

test('a file refers to its secrets, and an error about one does not quote it', () => {
  const file = check(
    alertsFileSchema,
    {
      channels: {
        ops: { type: 'slack', url: 'env:SLACK' },
        pager: { type: 'webhook', url: 'https://pager.test/', secret: 'env:SECRET' },
        mail: { type: 'smtp', server: 'env:SMTP', from: 'a@b', to: ['c@d'] },
      },
    },
    'alerts',
  )
  const values: Record<string, string> = {
    'env:SLACK': 'https://hooks.test/x',
    'env:SECRET': SECRET,
    'env:SMTP': 'smtp://h',
  }
  const resolve = (reference: string): string => values[reference] ?? ''
  expect(resolvedAlerts(file, 'alerts', resolve)?.channels).toMatchObject({
    ops: { url: 'https://hooks.test/x' },
    pager: { url: 'https://pager.test/', secret: SECRET },
    mail: { server: 'smtp://h' },
  })
  values['env:SLACK'] = 'hunter2'
  const faulty = (): unknown => resolvedAlerts(file, 'hookonce.json: alerts', resolve)
  expect(faulty).toThrow('hookonce.json: alerts: channels.ops.url: must be an http or https URL')
  expect(faulty).not.toThrow('hunter2')
})

test('a source has the general rules, except those that it replaces', () => {
  const alerts = check(
    alertsSchema,
    { rules: { lag: { seconds: 60 } }, sources: { stripe: { lag: 'off', failures: { count: 9 } } } },
    'alerts',
  )
  expect(rulesOf(alerts, 'github').lag).toEqual({ seconds: 60 })
  expect(rulesOf(alerts, 'stripe')).toMatchObject({
    lag: 'off',
    failures: { count: 9, share: 0.01, windowMinutes: 15 },
    attention: { count: 1 },
  })
  // A source may have the name of a property of Object.prototype.
  expect(rulesOf(alerts, 'constructor').lag).toEqual({ seconds: 60 })
})
