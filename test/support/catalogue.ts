import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Delivery } from '../../src/sources/contract.ts'
import { type CheckedDescription, checkDescription } from '../../src/sources/description.ts'
import { findProvider, providerIds } from '../../src/sources/index.ts'
import type { SourceOptions } from '../../src/sources/options.ts'
import type { Provider } from '../../src/sources/provider.ts'
import type { SignedDelivery } from '../../src/sources/sign.ts'
import { type Signature, takesPublicKey } from '../../src/sources/signature.ts'

/** One provider of the catalogue, with sufficient options. */
export interface Listed {
  readonly id: string
  readonly make: Provider
  readonly description: CheckedDescription
  readonly options: SourceOptions
}

/** Settings that must have a certain form. */
const SETTINGS: Readonly<Record<string, string>> = {
  environment: 'sandbox',
  product: 'wallets',
  url: 'https://auth.example.com',
  authUrl: 'https://auth.example.com',
  topicArn: 'arn:aws:sns:eu-central-1:123456789012:orders',
}

export function everyProvider(): Promise<Listed[]> {
  return Promise.all(
    providerIds.map(async (id) => {
      const make = await findProvider(id)
      if (make === undefined) throw new Error(`the module of ${id} exports no provider of that id`)
      const description = checkDescription(make.description)
      const settings = Object.keys(description.settings).map((name) => [
        name,
        SETTINGS[name] ?? `the-${name}`,
      ])
      const options: SourceOptions = {
        secret: secretFor(description.signature),
        url: 'https://example.com/in/x',
        settings: Object.fromEntries(settings),
      }
      return { id, make, description, options }
    }),
  )
}

/**
 * A secret of the kind that an algorithm needs. For public keys the private key, so that the source
 * can sign.
 */
export function secretFor(signature: Signature, which: 0 | 1 = 0): string {
  if (!takesPublicKey(signature)) return (['5ec5e7'.repeat(8), 'abcdef'.repeat(8)] as const)[which]
  const { algorithm } = signature
  const kind = algorithm === 'ed25519' ? 'ed25519' : algorithm.startsWith('ecdsa') ? 'ec' : 'rsa'
  const name = `${kind} ${which}`
  const key = keys.get(name) ?? privateKey(kind).export({ format: 'pem', type: 'pkcs8' }).toString()
  keys.set(name, key)
  return key
}

/** Providers share these keys, because making an RSA key takes long. */
const keys = new Map<string, string>()

function privateKey(kind: 'ed25519' | 'ec' | 'rsa'): KeyObject {
  if (kind === 'ed25519') return generateKeyPairSync('ed25519').privateKey
  if (kind === 'ec') return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
}

/** A signed delivery in the form in which it arrives. */
export function arriving(
  { method, url, headers, body }: SignedDelivery,
  receivedAtMs: number,
  changed: Partial<Delivery> = {},
): Delivery {
  return { method, url, body, header: (name) => headers[name], receivedAtMs, ...changed }
}
