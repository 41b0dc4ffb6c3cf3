import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'vite'
import { expect, test } from 'vitest'

/*
 * The examples in comments of src/. Editors show them to users, and no compiler reads them: a tool
 * that wraps comments can merge two of their statements into one line.
 */

const src = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'src')

/** The text of each doc comment, without its stars. */
const comments = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .flatMap((file) =>
    [...readFileSync(join(src, file), 'utf8').matchAll(/^ *\/\*\*?\n((?: *\*(?!\/).*\n)+) *\*\/$/gm)].map(
      ([, lines = '']) => ({ file, text: lines.replaceAll(/^ *\* ?/gm, '') }),
    ),
  )

const FENCED = /^```ts\n([\s\S]*?)^```$/gm

const examples = comments.flatMap(({ file, text }) =>
  [...text.matchAll(FENCED)].map(([, code = '']) => ({ file, code })),
)

test('comments have examples', () => {
  expect(examples.length).toBeGreaterThan(20)
})

test.each(examples)('the example in $file is TypeScript', ({ code }) => {
  // `…` stands for code of the reader.
  expect(parseSync('example.ts', code.replaceAll('…', 'undefined')).errors).toEqual([])
})

test('examples are between fences', () => {
  const CODE = /```|^ *@example|^ *(?:export )?(?:const|let) [\w{[]+.*=|\}\) \}\)/m
  const bare = comments.filter(({ text }) => CODE.test(text.replaceAll(FENCED, '')))
  expect(bare).toEqual([])
})
