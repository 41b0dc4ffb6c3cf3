/*
 * Renders text from outside as TypeScript source. Customers choose parts of the text, so it must
 * never become code: it must not end a quote, comment or template. Invisible characters are
 * escaped, because they can show code in another order than the compiler reads it, or control a
 * terminal.
 */

/** Control and format characters, lone surrogates, and separators of lines and paragraphs. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** A string in single quotes, on one line. */
export function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&').replace(INVISIBLE, escaped)}'`
}

function escaped(character: string): string {
  return SHORT[character] ?? `\\u{${character.codePointAt(0)?.toString(16)}}`
}

/**
 * A string in its most readable form: a raw template, if that holds the text without any escape.
 */
export function literal(text: string): string {
  const needsEscapes = /[\\'\n]/.test(text)
  return needsEscapes && fitsTemplate(text) ? `String.raw\`${text}\`` : quoted(text)
}

function fitsTemplate(text: string): boolean {
  if (/`|\$\{|\\$/.test(text)) return false
  return text.replace(/[\n\t]/g, '').search(INVISIBLE) < 0
}

/** Longer texts in a comment are cut. */
const MAX_COMMENT = 160

/** Text for a comment that ends at the end of its line. */
export function commented(text: string): string {
  const characters = [...text.replace(INVISIBLE, ' ').trim()]
  if (characters.length <= MAX_COMMENT) return characters.join('')
  return `${characters.slice(0, MAX_COMMENT).join('').trimEnd()}…`
}
