import { custom } from '../sources/custom.ts'
import type { SigningSource } from '../sources/sign.ts'
import { DEMO } from './demo.ts'
import { existingSecret, localSecret } from './local-secret.ts'

/** The file that holds the secret. */
const SECRET = 'demo-secret'

/** Creates the secret under --dir at the first start. */
export function makeDemoSource(dir: string): SigningSource {
  return demoSource(localSecret(dir, SECRET))
}

/** Undefined: no `dev` has run with this folder. */
export function findDemoSource(dir: string): SigningSource | undefined {
  const secret = existingSecret(dir, SECRET)
  return secret === undefined ? undefined : demoSource(secret)
}

function demoSource(secret: string): SigningSource {
  return custom({
    provider: DEMO,
    secret,
    // No timestamp, so that the printed curl line stays valid.
    signature: { algorithm: 'hmac-sha256', header: 'demo-signature', encoding: 'hex' },
    event: { key: 'json:id', type: 'json:type' },
  })
}
