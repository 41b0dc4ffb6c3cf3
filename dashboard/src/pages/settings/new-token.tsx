import { useState } from 'preact/hooks'
import { client } from '../../api.ts'
import { Command } from '../../parts/copy.tsx'
import { Dialog, PlanDialog } from '../../parts/dialog.tsx'
import { texts } from '../../texts.ts'

const words = texts.settings.tokens
const ROLES = ['viewer', 'operator', 'admin'] as const
type Role = (typeof ROLES)[number]
const DAY_MS = 86_400_000
const LIFETIMES = [7, 30, 90, 365]

export interface NewTokenProps {
  readonly onMade: (token: string) => void
  readonly onClose: () => void
}

/** A form for the rights of a new token. */
export function NewToken({ onMade, onClose }: NewTokenProps) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const [tenant, setTenant] = useState('')
  const [bodies, setBodies] = useState<boolean>()
  const [days, setDays] = useState('')
  const mayReadBodies = bodies ?? role !== 'viewer'

  async function make(why: string): Promise<void> {
    const { token } = await client.post('/tokens', {
      body: {
        name: name.trim(),
        role,
        why,
        bodies: mayReadBodies,
        ...(tenant.trim() === '' ? {} : { tenant: tenant.trim() }),
        ...(days === '' ? {} : { expiresAt: new Date(Date.now() + Number(days) * DAY_MS).toISOString() }),
      },
    })
    onMade(token)
  }

  return (
    <PlanDialog
      title={words.make}
      verb={words.make}
      isReady={name.trim() !== ''}
      onConfirm={make}
      onClose={onClose}
    >
      <div class="form">
        <label class="field">
          <span>{words.name}</span>
          <input
            name="name"
            value={name}
            maxLength={64}
            pattern="[\w.@-]+"
            autocomplete="off"
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <small>{words.nameHint}</small>
        </label>
        <fieldset class="choices">
          <legend>{words.role}</legend>
          {ROLES.map((one) => (
            <label key={one}>
              <input type="radio" name="role" checked={role === one} onChange={() => setRole(one)} />
              <span>{one}</span>
              <small>{words.roles[one]}</small>
            </label>
          ))}
        </fieldset>
        <label class="check">
          <input
            type="checkbox"
            checked={mayReadBodies}
            onChange={(event) => setBodies(event.currentTarget.checked)}
          />
          <span>{words.bodies}</span>
        </label>
        <label class="field">
          <span>{words.tenant}</span>
          <input
            name="tenant"
            value={tenant}
            maxLength={64}
            autocomplete="off"
            onInput={(event) => setTenant(event.currentTarget.value)}
          />
          <small>{words.tenantHint}</small>
        </label>
        <label class="field">
          <span>{words.days}</span>
          <select value={days} onChange={(event) => setDays(event.currentTarget.value)}>
            <option value="">{words.never}</option>
            {LIFETIMES.map((count) => (
              <option key={count} value={String(count)}>
                {words.inDays(count)}
              </option>
            ))}
          </select>
        </label>
      </div>
    </PlanDialog>
  )
}

/** Shows a new token. It is never shown again. */
export function MadeToken({ token, onClose }: { readonly token: string; readonly onClose: () => void }) {
  const foot = (
    <button type="button" class="first" onClick={onClose}>
      {words.done}
    </button>
  )
  return (
    <Dialog title={words.made} onClose={onClose} foot={foot}>
      <p>{words.madeHint}</p>
      <Command text={token} />
    </Dialog>
  )
}
