import { signal } from '@preact/signals'
import { boundKeys, keyCaps, useKeys } from '../keys.ts'
import { Dialog } from '../parts/dialog.tsx'
import { texts } from '../texts.ts'

const isHelpOpen = signal(false)

/** The list of keys of the current page, shown by `?`. */
export function Help() {
  useKeys([
    {
      keys: '?',
      label: texts.keys.help,
      run: () => {
        isHelpOpen.value = true
      },
    },
  ])
  if (!isHelpOpen.value) return null
  const listed = boundKeys().flatMap(({ keys, label }) =>
    keys === undefined || label === undefined ? [] : [{ keys, label }],
  )
  return (
    <Dialog
      title={texts.keys.title}
      onClose={() => {
        isHelpOpen.value = false
      }}
    >
      <dl class="keys">
        {listed.map(({ keys, label }) => [
          <dt key={`${keys} label`}>{label}</dt>,
          <dd key={keys}>
            {keyCaps(keys).map((cap) => (
              <kbd key={cap}>{cap}</kbd>
            ))}
          </dd>,
        ])}
      </dl>
    </Dialog>
  )
}
