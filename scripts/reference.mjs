// Writes the generated blocks of the pages in docs/reference from the types, schemas and catalogues
// of the code. test/docs/reference.test.ts fails if a page differs.
import { createJiti } from 'jiti'

const { writePages } = await createJiti(import.meta.url).import('./reference/write.ts')
const changed = await writePages()
console.log(changed.length === 0 ? 'docs/reference is up to date' : `wrote ${changed.join(', ')}`)
