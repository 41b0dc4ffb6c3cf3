/** As in `engines` of package.json. */
const OLDEST = [20, 19] as const

/**
 * What to tell who runs an old Node.js; undefined where it is new enough. Written so that old
 * versions can read it: what else is in this package would end there with a SyntaxError.
 */
export function refuseOldNode(version: string): string | undefined {
  // Not Node.js at all.
  if (version === '') return undefined
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined
  return `hookonce needs Node.js ${OLDEST.join('.')} or later, and this is ${version}: install a newer one`
}
