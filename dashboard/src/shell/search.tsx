import { useEffect, useRef, useState } from 'preact/hooks'
import { keyCaps, useKeys } from '../keys.ts'
import { href, navigate, place } from '../router.ts'
import { knownValues, readKnownValues } from '../search/known-values.ts'
import { type Completion, completionsAt, wordsOf } from '../search/tokens.ts'
import { texts } from '../texts.ts'
import { isPaletteOpen } from './palette.tsx'

/** Without the values there are no completions, and the search still works. */
function readValues(): void {
  readKnownValues().catch(() => undefined)
}

/**
 * The search at the top of every page. It opens the list of matching events, and is part of the URL
 * of the list.
 */
export function Search() {
  const { path, query } = place.value
  const inUrl = path === '/events' ? (query.get('q') ?? '') : ''
  const [text, setText] = useState(inUrl)
  const [caret, setCaret] = useState(0)
  const [isOpen, setOpen] = useState(false)
  const [chosen, setChosen] = useState(-1)
  const field = useRef<HTMLInputElement>(null)
  const mirror = useRef<HTMLDivElement>(null)
  useEffect(() => setText(inUrl), [inUrl])
  // Before the field is used, so that the values are there when a user types, and reading them does
  // not slow the search down. Safari has no idle callbacks, and reads when the field gets the focus.
  useEffect(() => {
    const idle = window.requestIdleCallback?.(readValues)
    return () => idle !== undefined && window.cancelIdleCallback(idle)
  }, [])
  useEffect(() => {
    if (mirror.current && field.current) mirror.current.scrollLeft = field.current.scrollLeft
  })
  useKeys([{ keys: '/', label: texts.keys.search, run: () => field.current?.focus() }])
  const completions = isOpen ? completionsAt(text, caret, knownValues.value) : []

  function edit(next: string, at: number): void {
    setText(next)
    setCaret(at)
    setOpen(true)
    setChosen(-1)
  }
  function take({ text: next, caret: at }: Completion): void {
    edit(next, at)
    // Runs after the field shows the new text.
    requestAnimationFrame(() => {
      field.current?.focus()
      field.current?.setSelectionRange(at, at)
    })
  }
  function search(given: string): void {
    setOpen(false)
    navigate(href('/events', { q: given.trim() || undefined }))
  }
  function press(event: KeyboardEvent): void {
    const picked = completions[chosen]
    if (event.key === 'ArrowDown') setChosen(Math.min(completions.length - 1, chosen + 1))
    else if (event.key === 'ArrowUp') setChosen(Math.max(-1, chosen - 1))
    else if (event.key === 'Tab' && completions.length > 0 && isOpen && !event.shiftKey && text !== '')
      take(picked ?? (completions[0] as Completion))
    else if (event.key === 'Enter' && picked) take(picked)
    else if (event.key === 'Enter') search(text)
    else if (event.key === 'Escape' && isOpen) setOpen(false)
    else if (event.key === 'Escape') field.current?.blur()
    else return
    event.preventDefault()
  }

  return (
    <search class="search">
      <kbd>/</kbd>
      <div class="search-field">
        <div class="mirror" ref={mirror} aria-hidden="true">
          {marked(text)}
        </div>
        <input
          ref={field}
          role="combobox"
          aria-expanded={completions.length > 0}
          aria-controls="completions"
          aria-autocomplete="list"
          aria-activedescendant={chosen >= 0 ? `completion-${chosen}` : undefined}
          aria-label={texts.search.label}
          placeholder={texts.search.placeholder}
          value={text}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          onInput={({ currentTarget: { value, selectionStart } }) =>
            edit(value, selectionStart ?? value.length)
          }
          onFocus={() => {
            setOpen(true)
            setCaret(text.length)
            readValues()
          }}
          onBlur={() => setOpen(false)}
          onKeyDown={press}
          onKeyUp={({ currentTarget }) => setCaret(currentTarget.selectionStart ?? 0)}
          onScroll={({ currentTarget }) => {
            if (mirror.current) mirror.current.scrollLeft = currentTarget.scrollLeft
          }}
        />
      </div>
      {text !== '' && (
        <button type="button" class="quiet small" aria-label={texts.search.clear} onClick={() => search('')}>
          ✕
        </button>
      )}
      <button
        type="button"
        class="quiet palette-key"
        title={texts.palette.open}
        onClick={() => {
          isPaletteOpen.value = true
        }}
      >
        <span class="hidden">{texts.palette.open}</span>
        {keyCaps('mod+k').map((cap) => (
          <kbd key={cap}>{cap}</kbd>
        ))}
      </button>
      <ul
        id="completions"
        role="listbox"
        aria-label={texts.search.completions}
        class="completions"
        hidden={completions.length === 0}
      >
        {completions.map((one, index) => (
          <li
            key={one.label}
            id={`completion-${index}`}
            role="option"
            aria-selected={index === chosen}
            // Must run before the field loses the focus.
            onMouseDown={(event) => {
              event.preventDefault()
              take(one)
            }}
          >
            <code>{one.label}</code>
            {one.isName && <span class="faint">{texts.search.names[one.label.slice(0, -1)] ?? ''}</span>}
          </li>
        ))}
      </ul>
    </search>
  )
}

/** The same text behind the field, with its tokens highlighted. */
function marked(text: string) {
  const parts: preact.ComponentChildren[] = []
  let at = 0
  for (const { name, from, to } of wordsOf(text)) {
    parts.push(text.slice(at, from))
    parts.push(name ? <mark key={from}>{text.slice(from, to)}</mark> : text.slice(from, to))
    at = to
  }
  return [...parts, text.slice(at)]
}
