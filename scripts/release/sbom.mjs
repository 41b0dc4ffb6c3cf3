// The software bill of materials: the packages of an installation of hookonce, as CycloneDX.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * In this repository `npm sbom --omit=dev` of npm 11 lists no dependency at all. So npm reads a
 * lockfile without the development packages, in a folder with the name of the package: npm 11 uses
 * the folder's name as the name of the package.
 */
export function sbomOf(root) {
  const scratch = mkdtempSync(join(tmpdir(), 'hookonce-sbom-'))
  try {
    const folder = join(scratch, 'hookonce')
    mkdirSync(folder)
    const { name, version, license, description, dependencies } = read(root, 'package.json')
    const manifest = { name, version, license, description, dependencies }
    const { packages, ...lock } = read(root, 'package-lock.json')
    const installed = Object.entries(packages).filter(([path, { dev, peer, devOptional }]) => {
      return path !== '' && !dev && !peer && !devOptional
    })
    const production = { ...lock, packages: { '': manifest, ...Object.fromEntries(installed) } }
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(production))
    const args = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=library']
    return execFileSync('npm', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function read(root, file) {
  return JSON.parse(readFileSync(join(root, file), 'utf8'))
}
