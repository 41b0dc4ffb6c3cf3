import type { Style } from './style.ts'

/** Colours of job states and attempt outcomes. Other states have the default colour. */
const COLOURS: Readonly<Record<string, keyof Style>> = {
  processed: 'green',
  published: 'green',
  retrying: 'yellow',
  crashed: 'yellow',
  attention: 'red',
  failed: 'red',
}

/** A state in its colour, if the output has colours. */
export function stateText(state: string, style: Style): string {
  const colour = COLOURS[state]
  return colour === undefined ? state : style[colour](state)
}

/** A count that is highlighted only above zero. */
export function countText(count: number, colour: keyof Style, style: Style): string {
  return count > 0 ? style[colour](String(count)) : String(count)
}
