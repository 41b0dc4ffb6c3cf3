import { maskOf, secretsOfQuery } from '../http/mask.ts'
import type { Auth, Destination } from './destination.ts'

/** Masks the secrets of a destination in its own response. */
export function secretMask({
  secret,
  auth,
  url,
}: Pick<Destination, 'secret' | 'auth' | 'url'>): (text: string) => string {
  return maskOf([secret, auth ? secretsIn(auth) : [], secretsOfQuery(url)].flat())
}

function secretsIn(auth: Auth): string[] {
  switch (auth.type) {
    case 'bearer':
      return [auth.token]
    case 'basic':
      return [auth.password, Buffer.from(`${auth.username}:${auth.password}`).toString('base64')]
    case 'header':
      return [auth.value]
  }
}
