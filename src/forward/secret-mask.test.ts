import { expect, test } from 'vitest'
import { secretMask } from './secret-mask.ts'

const SECRET = 'whsec_of_the_destination'
const URL = 'https://app.example/hooks?token=q_planted%21&v=1'

test.each([
  [{ type: 'bearer', token: 'tok_planted' }, 'authorization: Bearer tok_planted', 'authorization: Bearer …'],
  [
    { type: 'basic', username: 'u', password: 'p_planted' },
    `Basic ${btoa('u:p_planted')}, p_planted`,
    'Basic …, …',
  ],
  [{ type: 'header', name: 'x-key', value: 'k_planted' }, 'x-key: k_planted!', 'x-key: …!'],
] as const)('the secrets of %j are masked', (auth, answer, masked) => {
  expect(secretMask({ secret: SECRET, auth, url: URL })(answer)).toBe(masked)
})

test('every signing secret is masked, even if it is truncated at the end', () => {
  const mask = secretMask({ secret: [SECRET, 'whsec_older'], auth: undefined, url: URL })
  expect(mask(`${SECRET} whsec_older`)).toBe('… …')
  expect(mask(`it got ${SECRET.slice(0, -3)}`)).toBe('it got …')
  expect(mask('it got whs')).toBe('it got whs')
})

test('a token in the query is masked, but not the rest of the address', () => {
  const mask = secretMask({ secret: SECRET, auth: undefined, url: URL })
  expect(mask('POST /hooks?token=q_planted%21&v=1 failed')).toBe('POST /hooks… failed')
  expect(mask('the token q_planted! is wrong, v=1')).toBe('the token … is wrong, v=1')
})
