import './styles/tokens.css'
import './styles/base.css'
import './styles/shell.css'
import './styles/parts.css'
import { render } from 'preact'
import { readSession } from './api.ts'
import { App } from './app.tsx'
import { startLive } from './data/live.ts'
import { startKeys } from './keys.ts'
import { Failure } from './parts/feedback.tsx'
import { startRouter } from './router.ts'

const holder = document.getElementById('app')
if (!holder) throw new Error('the page has no element #app')

try {
  await readSession()
  startRouter()
  startKeys()
  startLive()
  render(<App />, holder)
} catch (error) {
  render(<Failure error={error} onRetry={() => window.location.reload()} />, holder)
}
