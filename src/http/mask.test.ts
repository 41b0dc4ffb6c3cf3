import { expect, test } from 'vitest'
import { maskOf, secretsOfPath, secretsOfQuery } from './mask.ts'

const URL = 'https://chat.example/services/T0/abcdefgh?key=q_planted%21'

test('the parts of a secret path are masked, in whole, alone and truncated', () => {
  const mask = maskOf([...secretsOfPath(URL), ...secretsOfQuery(URL)])
  expect(mask('no hook /services/T0/abcdefgh?key=q_planted%21')).toBe('no hook ……')
  expect(mask('hook abcdefgh is gone')).toBe('hook … is gone')
  expect(mask('unknown hook abcdef')).toBe('unknown hook …')
  expect(mask('the key q_planted! is wrong')).toBe('the key … is wrong')
})

test('short texts are not masked', () => {
  expect(maskOf(['', 'v1'])('v1 of this API')).toBe('v1 of this API')
})
