import { expect, test } from 'vitest'
import { systemResolver } from '../http/guarded-lookup.ts'
import { refusedHosts } from './refused-hosts.ts'

const at = (name: string, url: string, allowPrivate: string[] = []) => ({
  name,
  url,
  allowPrivate,
  secret: 'whsec_none',
  types: '*',
})

test('finds names that lead only to refused addresses, and no others', async () => {
  const addresses: Readonly<Record<string, string[]>> = {
    inside: ['10.0.0.1'],
    allowed: ['10.0.0.1'],
    both: ['10.0.0.1', '1.1.1.1'],
    outside: ['1.1.1.1'],
  }
  const found = await refusedHosts(
    [
      at('inside', 'http://inside/'),
      at('allowed', 'http://allowed/', ['allowed']),
      at('both', 'http://both/'),
      at('outside', 'https://outside/'),
      at('unknown', 'https://unknown/'),
      // The reading of the configuration already refuses this host.
      at('literal', 'http://10.0.0.1/'),
    ],
    async (host) => {
      const known = addresses[host]
      if (!known) throw new Error('ENOTFOUND')
      return known.map((address) => ({ address, family: 4 }))
    },
  )
  expect(found).toEqual([
    { name: 'inside', refusal: expect.stringContaining('inside resolves to 10.0.0.1, a private address') },
  ])
})

test('concurrent lookups of one name are one lookup', async () => {
  const resolve = systemResolver()
  const [first, second] = [resolve('localhost'), resolve('localhost')]
  expect(second).toBe(first)
  await first
  expect(resolve('localhost')).not.toBe(first)
})
