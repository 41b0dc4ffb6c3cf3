import { useState } from 'preact/hooks'
import { explain, logIn } from '../api.ts'
import { Command } from '../parts/copy.tsx'
import { texts } from '../texts.ts'

export function LogIn() {
  const [token, setToken] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()

  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      await logIn(token.trim())
    } catch (thrown) {
      setError(thrown)
      setBusy(false)
    }
  }

  return (
    <main class="log-in">
      <form class="card" onSubmit={(event) => void submit(event)}>
        <div class="brand">
          <i />
          hookonce
        </div>
        <h1>{texts.logIn.title}</h1>
        <label class="field">
          <span>{texts.logIn.token}</span>
          <input
            type="password"
            name="token"
            value={token}
            autocomplete="current-password"
            required
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        {error !== undefined && (
          <p class="fault" role="alert">
            {explain(error)}
          </p>
        )}
        <button type="submit" class="first" disabled={isBusy || token.trim() === ''}>
          {isBusy ? texts.working : texts.logIn.verb}
        </button>
        <p class="muted">{texts.logIn.hint}</p>
        <Command text={texts.logIn.command} />
      </form>
    </main>
  )
}
