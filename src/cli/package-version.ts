import { readFileSync } from 'node:fs'

/** From package.json, which is next to src/ and dist/. */
export function packageVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}
