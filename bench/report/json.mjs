// @ts-check
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'

export const resultsDir = new URL('../results/', import.meta.url)
const latest = new URL('latest.json', resultsDir)

/**
 * The last run of each mode is kept: modes are measured one after the other, and read together.
 * @param {import('./summary.mjs').Summary} summary
 */
export async function writeJson(summary) {
  const all = { ...(await existing()), [summary.options.mode]: summary }
  await writeResult('latest.json', `${JSON.stringify(all, undefined, 2)}\n`)
}

/**
 * @param {string} name
 * @param {string} text
 */
export async function writeResult(name, text) {
  await mkdir(resultsDir, { recursive: true })
  const temporary = new URL(`${name}.tmp`, resultsDir)
  await writeFile(temporary, text)
  await rename(temporary, new URL(name, resultsDir))
}

async function existing() {
  try {
    return JSON.parse(await readFile(latest, 'utf8'))
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return {}
    throw error
  }
}
