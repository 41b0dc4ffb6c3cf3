/** Must equal `engines` in package.json. */
const OLDEST = [20, 19] as const

/**
 * The error for an old version of Node.js. Undefined if the version is new enough. This file uses
 * only old syntax: an old version would stop at any other file with a SyntaxError.
 */
export function refuseOldNode(version: string): string | undefined {
  // The runtime is not Node.js.
  if (version === '') return undefined
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined
  return `hookonce needs Node.js ${OLDEST.join('.')} or later, and this is ${version}: install a newer one`
}
