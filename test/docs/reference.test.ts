import { expect, test } from 'vitest'
import { withBlocks } from '../../scripts/reference/blocks.ts'
import { generatedPages } from '../../scripts/reference/write.ts'
import { commands } from '../../src/cli/commands.ts'

const pages = await generatedPages()

test.each(pages)('the generated blocks of $page are those of the code: run `npm run reference`', (one) => {
  expect(one.text).toBe(one.wanted)
})

test('every command has a section, or a page of its own', () => {
  const cli = pages.find(({ page }) => page.endsWith('/cli.md'))?.text ?? ''
  const missing = commands.filter(
    ({ name }) =>
      !cli.includes(`\n## \`hookonce ${name}\`\n`) && !pages.some(({ page }) => page.endsWith(`/${name}.md`)),
  )
  expect(missing.map(({ name }) => name)).toEqual([])
})

const block = { name: 'numbers', text: () => '| 1 |' }

test('a block is replaced, and the prose around it stays', async () => {
  const page = 'before\n<!-- generated: numbers -->\n| 0 |\n<!-- end of numbers -->\nafter\n'
  expect(await withBlocks('a.md', page, [block])).toBe(page.replace('| 0 |', '| 1 |'))
})

test.each([
  ['no block "numbers"', 'prose'],
  ['nothing generates the block "words"', '<!-- generated: words -->\n<!-- end of words -->'],
  ['the block "numbers" ends with "errors"', '<!-- generated: numbers -->\n<!-- end of errors -->'],
])('%s is an error', async (says, page) => {
  await expect(withBlocks('a.md', page, [block])).rejects.toThrow(says)
})
