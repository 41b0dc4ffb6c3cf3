import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/* The code blocks of the pages. */

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..')

export const readPage = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** The pages directly in a folder. */
export const inFolder = (folder: string): string[] =>
  readdirSync(join(ROOT, folder))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `${folder}/${file}`)

export interface Snippet {
  readonly page: string
  readonly language: string
  readonly code: string
  /** The file that the snippet shows. */
  readonly example: string | undefined
}

export function snippetsOf(pages: readonly string[]): Snippet[] {
  return pages.flatMap((page) =>
    [...readPage(page).matchAll(/(?:^<!-- (\S+) -->\n)?^ *```(\w*)\n([\s\S]*?)^ *```$/gm)].map(
      ([, example, language = '', code = '']) => ({ page, language, code, example }),
    ),
  )
}
