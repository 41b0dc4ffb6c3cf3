import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OpenedPage } from './open-page.ts'

/** Not in git. For people who change the look of a page. */
const FOLDER = fileURLToPath(new URL('../screenshots', import.meta.url))

export async function screenshot({ page, width, theme }: OpenedPage, name: string): Promise<void> {
  mkdirSync(FOLDER, { recursive: true })
  await page.screenshot({ path: join(FOLDER, `${name}-${width}-${theme}.png`) })
}
