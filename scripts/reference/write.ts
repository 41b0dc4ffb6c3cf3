import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withBlocks } from './blocks.ts'
import { blocks } from './pages.ts'
import { ROOT } from './root.ts'

/** The pages with generated blocks, as they are and as they should be. */
export async function generatedPages(): Promise<{ page: string; text: string; wanted: string }[]> {
  const names = [...new Set(blocks.map(({ page }) => page))]
  return Promise.all(
    names.map(async (page) => {
      const text = readFileSync(join(ROOT, page), 'utf8')
      return {
        page,
        text,
        wanted: await withBlocks(
          page,
          text,
          blocks.filter((block) => block.page === page),
        ),
      }
    }),
  )
}

/** Writes the blocks into the pages, and returns the pages that changed. */
export async function writePages(): Promise<string[]> {
  const changed = (await generatedPages()).filter(({ text, wanted }) => text !== wanted)
  for (const { page, wanted } of changed) writeFileSync(join(ROOT, page), wanted)
  return changed.map(({ page }) => page)
}
