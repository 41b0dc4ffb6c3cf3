import { X509Certificate } from 'node:crypto'
import { rootCertificates } from 'node:tls'
import type { FetchBytes } from './fetch-text.ts'

export interface TrustCheck {
  /** The certificates in which every chain must end. */
  readonly roots: readonly X509Certificate[]
  readonly nowMs: number
  /** Fetches the issuer of a certificate, if the delivered chain does not contain it. */
  fetchIssuer(certificate: X509Certificate): Promise<X509Certificate | undefined>
}

// Leaf, two issuers, root: no known chain is longer.
const MAX_ISSUERS = 3

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Returns the first certificate of a text if a chain of valid issuers leads to a root. Otherwise
 * throws.
 */
export async function trustedCertificate(pem: string, trust: TrustCheck): Promise<X509Certificate> {
  const [leaf, ...delivered] = (pem.match(PEM) ?? [])
    .slice(0, 1 + MAX_ISSUERS)
    .map((text) => new X509Certificate(text))
  if (leaf === undefined) throw new Error('no certificate found')
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
  throw new Error('the certificate chain does not end in a trusted root')
}

function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  // Compare names first: there are about 150 roots, and checking a signature is slow.
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

/** How a provider's certificates are fetched, and their trusted roots. */
export interface CertificateSource {
  readonly fetcher: FetchBytes
  readonly roots: () => readonly X509Certificate[]
}

/** The public roots that this version of Node.js includes. */
export function publicRoots(): X509Certificate[] {
  return rootCertificates.map((pem) => new X509Certificate(pem))
}

/**
 * Fetches the issuer from the address in the certificate. `address` matches the known addresses of
 * the authorities. They publish over plain http, which is safe because the next certificate's
 * signature proves every issuer.
 */
export async function publishedIssuer(
  { infoAccess }: X509Certificate,
  address: RegExp,
  fetcher: FetchBytes,
): Promise<X509Certificate | undefined> {
  const urls = [...(infoAccess ?? '').matchAll(/^CA Issuers - URI:(.*)$/gm)].map(([, url = '']) => url)
  const url = urls.find((one) => address.test(one))
  return url === undefined ? undefined : new X509Certificate(await fetcher(url))
}
