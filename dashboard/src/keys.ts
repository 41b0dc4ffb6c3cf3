import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

/*
 * Keyboard shortcuts. Components register their keys; the newest component wins. The help and the
 * palette list the registered keys.
 */

export interface KeyBinding {
  /** A key, such as `j`, `Enter`, `shift+j`, `mod+k` (⌘ or Ctrl), or two keys in turn: `g e`. */
  /** Without keys, only the palette lists the binding. */
  readonly keys?: string
  /** A description for the help and the palette. Without it, the binding is not listed. */
  readonly label?: string
  readonly run: (event: KeyboardEvent) => void
}

interface Taken {
  readonly bindings: () => readonly KeyBinding[]
}

const taken: Taken[] = []
/** Incremented when the registered keys change. */
const version = signal(0)
/** The second of two keys must follow within this time. */
const SEQUENCE_MS = 1_200

export function useKeys(bindings: readonly KeyBinding[]): void {
  const latest = useRef(bindings)
  latest.current = bindings
  useEffect(() => {
    const own = { bindings: () => latest.current }
    taken.push(own)
    version.value += 1
    return () => {
      taken.splice(taken.indexOf(own), 1)
      version.value += 1
    }
  }, [])
}

/** The registered bindings, newest first, each key once. */
export function boundKeys(): readonly KeyBinding[] {
  version.value
  const found = new Map<string, KeyBinding>()
  for (const { bindings } of [...taken].reverse())
    for (const binding of bindings()) {
      const name = binding.keys ?? binding.label ?? ''
      if (!found.has(name)) found.set(name, binding)
    }
  return [...found.values()]
}

export function startKeys(): void {
  let first = ''
  let firstAt = 0
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return
    const key = keyOf(event)
    // A modal dialog handles its own keys.
    if (document.querySelector('dialog[open]') && key !== 'mod+k') return
    if (isTheirs(event.target, key)) return
    const sequence = performance.now() - firstAt < SEQUENCE_MS ? `${first} ${key}` : ''
    const bound = boundKeys()
    const found = bound.find(({ keys }) => keys === sequence) ?? bound.find(({ keys }) => keys === key)
    first = ''
    if (found) {
      event.preventDefault()
      found.run(event)
    } else if (bound.some(({ keys }) => keys?.startsWith(`${key} `))) {
      first = key
      firstAt = performance.now()
    }
  })
}

function keyOf(event: KeyboardEvent): string {
  const { key } = event
  const isLetter = /^[a-z]$/i.test(key)
  const shift = event.shiftKey && (isLetter || key.length > 1) ? 'shift+' : ''
  const mod = event.metaKey || event.ctrlKey ? 'mod+' : ''
  const alt = event.altKey ? 'alt+' : ''
  return `${mod}${alt}${shift}${isLetter ? key.toLowerCase() : key}`
}

/** Elements in which a user types text. */
const FIELDS = 'input:not([type=checkbox]), textarea, select, [contenteditable]'

/** The field that has the focus. */
export function focusedField(): HTMLElement | undefined {
  const { activeElement } = document
  return activeElement instanceof HTMLElement && activeElement.matches(FIELDS) ? activeElement : undefined
}

/** Letters in a field are text, and Enter on a button or a link presses it. */
function isTheirs(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof Element)) return false
  if (target.closest(FIELDS)) return key !== 'mod+k'
  return (key === 'Enter' || key === ' ') && target.closest('a, button, summary, input') !== null
}

const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** The name of a key for people. */
export function keyCaps(keys: string): readonly string[] {
  const isCapital = keys.includes('+')
  return keys.split(/[ +]/).map((part) => {
    if (isCapital && part.length === 1) return part.toUpperCase()
    if (part === 'mod') return isApple ? '⌘' : 'Ctrl'
    if (part === 'shift') return '⇧'
    return { ArrowUp: '↑', ArrowDown: '↓', Enter: '↵', Escape: 'esc', ' ': 'space' }[part] ?? part
  })
}
