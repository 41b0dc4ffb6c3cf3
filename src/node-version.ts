/** The same as `engines` in package.json. */
const OLDEST = [20, 19] as const

/**
 * The message for an old version of Node.js; undefined if it is new enough. Uses only old syntax:
 * any other file of this package would end there with a SyntaxError.
 */
export function refuseOldNode(version: string): string | undefined {
  // Not Node.js at all.
  if (version === '') return undefined
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined
  return `hookonce needs Node.js ${OLDEST.join('.')} or later, and this is ${version}: install a newer one`
}
