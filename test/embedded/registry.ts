import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { onTestFinished } from 'vitest'
import { bytesIn } from '../../src/ledger/embedded/copy.ts'
import type { ServerPackage } from '../../src/ledger/embedded/packages.ts'

/** An npm registry with one package. */
export interface Registry {
  readonly url: string
  /** The requested names, in order. */
  readonly requests: string[]
}

export interface Published {
  readonly name: string
  readonly version: string
  readonly tarball: Buffer
  /** The version that the registry declares. */
  readonly integrity: string
  readonly unpackedBytes: number
}

function integrityOf(bytes: Uint8Array): string {
  return `sha512-${createHash('sha512').update(bytes).digest('base64')}`
}

/** Packs a folder as a package. npm strips the folder's name. */
export async function published(
  folder: string,
  { name, version }: Pick<ServerPackage, 'name' | 'version'>,
): Promise<Published> {
  const args = ['-C', dirname(folder), '-cf', '-', basename(folder)]
  const { stdout } = await promisify(execFile)('tar', args, { encoding: 'buffer', maxBuffer: 2 ** 30 })
  const tarball = gzipSync(stdout, { level: 1 })
  return { name, version, tarball, integrity: integrityOf(tarball), unpackedBytes: await bytesIn(folder) }
}

/** A package with the shape of the server's package, but without a server. */
export async function fakePackage(
  folder: string,
  { name, version, bytes = new Uint8Array(1) }: { name: string; version: string; bytes?: Uint8Array },
): Promise<void> {
  await mkdir(join(folder, 'native', 'bin'), { recursive: true })
  await mkdir(join(folder, 'dist'))
  // If this ran, npm would fail.
  const scripts = { postinstall: 'exit 1' }
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name, version, exports: './dist/index.js', scripts }),
  )
  await writeFile(join(folder, 'dist', 'index.js'), '')
  await writeFile(join(folder, 'native', 'bin', 'postgres'), bytes)
}

export async function startRegistry(held: Published | 'silent'): Promise<Registry> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(decodeURIComponent(request.url ?? ''))
    if (held === 'silent') return
    if (request.url?.endsWith('.tgz')) return void response.end(held.tarball)
    const { name, version, integrity } = held
    const dist = { tarball: `http://${request.headers.host}/package.tgz`, integrity }
    const versions = { [version]: { name, version, dist, hasInstallScript: true } }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, requests }
}
