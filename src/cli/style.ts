/* Colours are written to a terminal only, unless FORCE_COLOR is set. */

const CODES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const

export type Style = Readonly<Record<keyof typeof CODES, (text: string) => string>>

interface Output {
  readonly isTTY?: boolean | undefined
}

/**
 * FORCE_COLOR wins, except with the value 0. NO_COLOR with any value turns colours off
 * (https://no-color.org). A terminal of type dumb gets none.
 */
export function hasColours(output: Output, env: NodeJS.ProcessEnv = process.env): boolean {
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  return output.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
}

/** Functions that colour a text, or return it unchanged. */
export function styleOf(output: Output, env: NodeJS.ProcessEnv = process.env): Style {
  const isOn = hasColours(output, env)
  const entries = Object.entries(CODES).map(([name, [on, off]]) => [
    name,
    (text: string) => (isOn ? `\x1b[${on}m${text}\x1b[${off}m` : text),
  ])
  return Object.fromEntries(entries) as Style
}
