import { X509Certificate } from 'node:crypto'
import { rootCertificates } from 'node:tls'
import type { FetchBytes } from './fetch-text.ts'

export interface Trust {
  /** The certificates that every chain must end in. */
  readonly roots: readonly X509Certificate[]
  readonly nowMs: number
  /** Fetches the issuer of a certificate, where what was delivered holds none. */
  fetchIssuer(certificate: X509Certificate): Promise<X509Certificate | undefined>
}

// Leaf, two issuers, root: nobody's chain is longer.
const MAX_ISSUERS = 3

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * The first certificate of a text, when a chain of valid issuers leads from it to a root; else it
 * throws.
 */
export async function trustedCertificate(pem: string, trust: Trust): Promise<X509Certificate> {
  const [leaf, ...delivered] = (pem.match(PEM) ?? [])
    .slice(0, 1 + MAX_ISSUERS)
    .map((text) => new X509Certificate(text))
  if (leaf === undefined) throw new Error('there is no certificate')
  let certificate = leaf
  for (let issuers = 0; issuers <= MAX_ISSUERS; issuers++) {
    if (!isValidAt(certificate, trust.nowMs)) throw new Error('a certificate of the chain is not valid now')
    if (trust.roots.some((root) => isValidAt(root, trust.nowMs) && hasIssued(root, certificate))) return leaf
    const issuer =
      delivered.find((candidate) => hasIssued(candidate, certificate)) ??
      (await trust.fetchIssuer(certificate))
    if (issuer === undefined || !hasIssued(issuer, certificate)) break
    certificate = issuer
  }
  throw new Error('the chain of the certificate ends in no root that is trusted')
}

function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  // The names first: there are some 150 roots, and to check a signature takes long.
  return (
    issuer.ca &&
    issuer.subject === certificate.issuer &&
    certificate.checkIssued(issuer) &&
    certificate.verify(issuer.publicKey)
  )
}

function isValidAt({ validFrom, validTo }: X509Certificate, nowMs: number): boolean {
  return Date.parse(validFrom) <= nowMs && nowMs <= Date.parse(validTo)
}

/** Whom a provider's certificates are fetched from, and the roots that they must lead to. */
export interface Trusting {
  readonly fetching: FetchBytes
  readonly roots: () => readonly X509Certificate[]
}

/** The public roots that this version of Node.js brings. */
export function publicRoots(): X509Certificate[] {
  return rootCertificates.map((pem) => new X509Certificate(pem))
}

/**
 * The issuer, fetched from where the certificate says it is published; `address` matches the known
 * places of the authorities. They publish over plain http, as every issuer is proved by the
 * signature of the next.
 */
export async function publishedIssuer(
  { infoAccess }: X509Certificate,
  address: RegExp,
  fetching: FetchBytes,
): Promise<X509Certificate | undefined> {
  const urls = [...(infoAccess ?? '').matchAll(/^CA Issuers - URI:(.*)$/gm)].map(([, url = '']) => url)
  const url = urls.find((one) => address.test(one))
  return url === undefined ? undefined : new X509Certificate(await fetching(url))
}
