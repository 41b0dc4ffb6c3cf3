import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The files below a folder that contain one of these texts, as bytes. */
export function filesWith(dir: string, texts: readonly (string | Buffer)[]): string[] {
  const wanted = texts.map((text) => (typeof text === 'string' ? Buffer.from(text) : text))
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => {
      const bytes = readFileSync(file)
      return wanted.some((text) => bytes.includes(text))
    })
}
