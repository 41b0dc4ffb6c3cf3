import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { boundKeys, keyCaps, useKeys } from '../keys.ts'
import { useModal } from '../parts/dialog.tsx'
import { href, navigate } from '../router.ts'
import { routes } from '../routes.ts'
import { texts } from '../texts.ts'
import { nextTheme } from './theme.ts'

/* The command palette (⌘K): every page, and every action of the current page. */

export const isPaletteOpen = signal(false)

interface Choice {
  readonly label: string
  readonly keys?: string
  readonly run: () => void
}

export function Palette() {
  useKeys([
    {
      keys: 'mod+k',
      label: texts.palette.open,
      run: () => {
        isPaletteOpen.value = !isPaletteOpen.peek()
      },
    },
  ])
  return isPaletteOpen.value ? <OpenPalette /> : null
}

function choices(text: string): readonly Choice[] {
  const pages = routes
    .filter(({ rail }) => rail !== undefined)
    .map(({ title, path, key }) => ({
      label: texts.palette.go(title),
      ...(key === undefined ? {} : { keys: `g ${key}` }),
      run: () => navigate(href(path)),
    }))
  const verbs = boundKeys().flatMap(({ label, keys, run }) =>
    label === undefined || keys === 'mod+k' || keys?.startsWith('g ')
      ? []
      : [
          {
            label,
            ...(keys === undefined ? {} : { keys }),
            run: () => run(new KeyboardEvent('keydown')),
          },
        ],
  )
  const all = [...pages, ...verbs, { label: texts.palette.theme, run: nextTheme }]
  const words = text.toLowerCase().split(/\s+/)
  const found = all.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
  if (text.trim() === '') return found
  return [
    ...found,
    { label: texts.palette.search(text.trim()), run: () => navigate(href('/events', { q: text.trim() })) },
  ]
}

function OpenPalette() {
  const close = (): void => {
    isPaletteOpen.value = false
  }
  const ref = useModal(close)
  const [text, setText] = useState('')
  const [place, setPlace] = useState(0)
  const list = useRef<HTMLUListElement>(null)
  const shown = choices(text)
  const chosen = Math.min(place, shown.length - 1)
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' })
  }, [chosen])

  function run(choice: Choice | undefined): void {
    close()
    // Runs after the dialog has restored the focus.
    if (choice) setTimeout(choice.run)
  }

  return (
    <dialog ref={ref} class="palette" aria-label={texts.palette.label}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${chosen}`}
        aria-label={texts.palette.label}
        placeholder={texts.palette.placeholder}
        value={text}
        autocomplete="off"
        onInput={(event) => {
          setText(event.currentTarget.value)
          setPlace(0)
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') setPlace(Math.min(shown.length - 1, chosen + 1))
          else if (event.key === 'ArrowUp') setPlace(Math.max(0, chosen - 1))
          else if (event.key === 'Enter') run(shown[chosen])
          else if (event.key === 'k' && (event.metaKey || event.ctrlKey)) close()
          else return
          event.preventDefault()
        }}
      />
      <ul id="palette-list" role="listbox" aria-label={texts.palette.label} ref={list}>
        {shown.map((choice, index) => (
          <li
            key={`${choice.label} ${choice.keys}`}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen}
            onMouseMove={() => setPlace(index)}
            onClick={() => run(choice)}
          >
            {choice.label}
            {choice.keys !== undefined && (
              <span>
                {keyCaps(choice.keys).map((cap) => (
                  <kbd key={cap}>{cap}</kbd>
                ))}
              </span>
            )}
          </li>
        ))}
      </ul>
    </dialog>
  )
}
