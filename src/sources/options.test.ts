import { describe, expect, it } from 'vitest'
import { HookonceError } from '../model/errors.ts'
import {
  custom,
  github,
  lemonsqueezy,
  type Secret,
  type SourceOptions,
  shopify,
  standardWebhooks,
  stripe,
} from './index.ts'

const acme = (options: SourceOptions) =>
  custom({
    ...options,
    provider: 'acme',
    signature: { algorithm: 'hmac-sha256', header: 'x-sig', encoding: 'hex' },
    event: { key: 'json:id' },
  })

describe.each([
  ['stripe', stripe],
  ['github', github],
  ['shopify', shopify],
  ['standard-webhooks', standardWebhooks],
  ['lemonsqueezy', lemonsqueezy],
  ['acme', acme],
] as const)('%s', (name, make) => {
  it.each<[Secret]>([[undefined], [''], ['  '], ['\n'], [[]], [[undefined, '']]])(
    'refuses the secret %o',
    (secret) => {
      const attempt = () => make({ secret })
      expect(attempt).toThrow(HookonceError)
      expect(attempt).toThrow(expect.objectContaining({ code: 'SECRET_MISSING' }))
      expect(attempt).toThrow(new RegExp(`${name}: the option \`secret\` is empty`))
    },
  )

  it('rejects a missing secret, and one that is not a string', () => {
    expect(() => make({} as SourceOptions)).toThrow(/SECRET_MISSING/)
    expect(() => make({ secret: 5 } as unknown as SourceOptions)).toThrow(
      /CONFIG_INVALID: .*secret: expected a string/,
    )
    expect(() => make({ secret: null } as unknown as SourceOptions)).toThrow(
      /CONFIG_INVALID: .*secret: expected a string/,
    )
  })

  it('rejects keyNames, because it fetches no keys', () => {
    expect(() => make({ secret: 'c2VjcmV0', keyNames: ['k1'] })).toThrow(
      /CONFIG_INVALID: .*keyNames: .*remove the option/,
    )
  })

  it('rejects a secret that ends with a line break, and more than 8 secrets', () => {
    expect(() => make({ secret: 'c2VjcmV0\n' })).toThrow(
      /CONFIG_INVALID: .*secret 1 begins or ends with whitespace/,
    )
    expect(() => make({ secret: Array<string>(9).fill('c2VjcmV0') })).toThrow(
      /CONFIG_INVALID: .*at most 8 secrets/,
    )
    expect(() => make({ secret: Array<string>(8).fill('c2VjcmV0') })).not.toThrow()
  })

  it('rejects an unknown option', () => {
    expect(() => make({ secret: 'c2VjcmV0', tolerance: 5 } as SourceOptions)).toThrow(
      /CONFIG_INVALID: .*unknown "tolerance" .did you mean "toleranceSeconds".*; allowed: .*toleranceSeconds/,
    )
  })

  it('does not show the secret when it is printed', () => {
    const source = make({ secret: 'c2VjcmV0' })
    expect(JSON.stringify(source)).not.toContain('c2VjcmV0')
  })
})
