/*
 * A generated block of a page, between two comments that no reader sees:
 *
 *   <!-- generated: errors -->
 *   …
 *   <!-- end of errors -->
 */

const BLOCK = /<!-- generated: (.+) -->\n[\s\S]*?<!-- end of (.+) -->/g

export interface Block {
  readonly page: string
  /** What the page calls the block. */
  readonly name: string
  text(): string | Promise<string>
}

/** The page with its blocks as the code generates them. */
export async function withBlocks(
  page: string,
  text: string,
  blocks: readonly Pick<Block, 'name' | 'text'>[],
): Promise<string> {
  const made = new Map<string, string>()
  for (const block of blocks) made.set(block.name, await block.text())
  const used = new Set<string>()
  const written = text.replaceAll(BLOCK, (_, name: string, end: string) => {
    const block = made.get(name)
    if (block === undefined) throw new Error(`${page}: nothing generates the block "${name}"`)
    if (end !== name) throw new Error(`${page}: the block "${name}" ends with "${end}"`)
    used.add(name)
    return `<!-- generated: ${name} -->\n${block}\n<!-- end of ${name} -->`
  })
  const missing = [...made.keys()].filter((name) => !used.has(name))
  if (missing.length > 0) throw new Error(`${page}: the page has no block "${missing.join('", "')}"`)
  return written
}
