import { expect, it } from 'vitest'
import { environmentOptions, secretVariable, settingVariable, urlVariable } from './environment.ts'
import { findProvider, providerIds } from './index.ts'

it.each([
  ['stripe', 'STRIPE_WEBHOOK_SECRET'],
  ['cal-com', 'CAL_COM_WEBHOOK_SECRET'],
  ['standard-webhooks', 'STANDARD_WEBHOOKS_SECRET'],
  ['supabase-db-webhooks', 'SUPABASE_DB_WEBHOOKS_SECRET'],
])('the secret of %s is in %s', (provider, variable) => {
  expect(secretVariable(provider)).toBe(variable)
})

it('no variable has two meanings in the catalogue', async () => {
  const providers = await Promise.all(providerIds.map((id) => findProvider(id)))
  const variables = providers.flatMap((make) => {
    if (make === undefined) return []
    const { provider, settings = {} } = make.description
    return [
      secretVariable(provider),
      urlVariable(provider),
      ...Object.keys(settings).map((name) => settingVariable(provider, name)),
    ]
  })
  expect(variables).toHaveLength(new Set(variables).size)
  for (const variable of variables) expect(variable).toMatch(/^[A-Z][A-Z0-9_]*$/)
})

it('reads the variables that are set, and treats an empty one as missing', () => {
  const description = { provider: 'braintree', settings: { publicKey: 'the public key' } }
  expect(
    environmentOptions(description, {
      BRAINTREE_WEBHOOK_SECRET: 's',
      BRAINTREE_WEBHOOK_URL: 'https://example.com/in/braintree',
      BRAINTREE_PUBLIC_KEY: 'p',
    }),
  ).toEqual({ secret: 's', url: 'https://example.com/in/braintree', settings: { publicKey: 'p' } })
  expect(environmentOptions(description, { BRAINTREE_WEBHOOK_SECRET: '' })).toEqual({
    secret: undefined,
    url: undefined,
    settings: {},
  })
})
