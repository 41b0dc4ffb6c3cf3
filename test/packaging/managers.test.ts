import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject, onTestFinished, test } from 'vitest'
import { NEEDS_LINUX_X64 } from '../support/declared-skips.ts'
import { type Command, output } from './support/command.ts'
import { addScripts, load, play, type Runner } from './support/play.ts'

/* The tarball, installed into an empty folder by each package manager, with its own cache. */

const tools = join(import.meta.dirname, 'node_modules')
const bun = join(tools, '@oven/bun-linux-x64/bin/bun')
const yarn4: Command = [process.execPath, join(tools, '@yarnpkg/cli-dist/bin/yarn.js')]

interface Manager {
  /** The arguments that install a tarball. Its path follows. */
  readonly install: Command
  readonly env?: Record<string, string>
  readonly files?: Record<string, string>
  /** The command that runs programs. Default: Node.js and `node_modules/.bin`. */
  readonly runner?: Partial<Runner>
}

const npm = (...flags: string[]): Manager => ({
  install: ['npm', 'install', '--no-audit', '--no-fund', ...flags],
})

const managers: Record<string, Manager> = {
  pnpm: { install: [process.execPath, join(tools, 'pnpm/bin/pnpm.mjs'), 'add', '--store-dir', '.store'] },
  yarn: {
    install: [...yarn4, 'add'],
    env: { YARN_ENABLE_GLOBAL_CACHE: 'false', YARN_GLOBAL_FOLDER: '.global', YARN_ENABLE_TELEMETRY: 'false' },
    files: { 'yarn.lock': '' },
    runner: { node: [...yarn4, 'node'], hookonce: [...yarn4, 'hookonce'], canRequire: false },
  },
  bun: { install: [bun, 'add'], env: { BUN_INSTALL_CACHE_DIR: '.cache' } },
}

/** These managers are slow, or nearly equal to others. */
const rare: Record<string, Manager> = {
  'npm with install scripts': npm('--omit=optional'),
  'npm with optional packages': npm('--ignore-scripts'),
  'npm without any flag': npm(),
  'yarn with node_modules': {
    ...managers.yarn,
    install: [...yarn4, 'add'],
    files: { 'yarn.lock': '', '.yarnrc.yml': 'nodeLinker: node-modules\n' },
    runner: {},
  },
  'yarn 1': {
    install: [process.execPath, join(tools, 'yarn-1/bin/yarn.js'), 'add', '--cache-folder', '.cache'],
  },
  'bun as the runtime': {
    install: [bun, 'add'],
    env: { BUN_INSTALL_CACHE_DIR: '.cache' },
    runner: { node: [bun], hookonce: [bun, 'node_modules/hookonce/dist/cli/bin.js'] },
  },
}

const inNodeModules = {
  node: [process.execPath],
  hookonce: ['node_modules/.bin/hookonce'],
} satisfies Partial<Runner>

const tried = process.env.HOOKONCE_PACKAGING === 'all' ? { ...managers, ...rare } : managers

test('runs from npm, without install scripts and optional packages', async () => {
  const cwd = inject('installedApp')
  addScripts(cwd)
  await tryOut({ cwd, ...inNodeModules })
})

test.for(Object.entries(tried))(
  'runs from %s',
  async ([name, { install, env, files = {}, runner }], context) => {
    if (name.startsWith('bun') && !existsSync(bun)) return context.skip(NEEDS_LINUX_X64)
    const cwd = mkdtempSync(join(tmpdir(), 'hookonce-manager-'))
    onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
    writeFileSync(join(cwd, 'package.json'), '{ "private": true }\n')
    for (const [file, text] of Object.entries(files)) writeFileSync(join(cwd, file), text)
    await output([...install, `hookonce@${inject('tarball')}`], { cwd, env })
    addScripts(cwd)
    await tryOut({ cwd, env, ...inNodeModules, ...runner })
  },
)

async function tryOut(runner: Runner): Promise<void> {
  await load(runner)
  await play(runner)
}
