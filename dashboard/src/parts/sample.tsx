import { href } from '../router.ts'
import { texts } from '../texts.ts'

const SAMPLES = 3

/** Links to some events, in a new browser tab, so that the dialog stays open. */
export function Sample({ ids }: { readonly ids: readonly string[] }) {
  if (ids.length === 0) return null
  return (
    <span>
      {texts.replayMany.sample}{' '}
      {ids.slice(0, SAMPLES).map((id, place) => (
        <span key={id}>
          {place > 0 && ', '}
          <a class="link mono" href={href(`/events/${id}`)} target="_blank" rel="noreferrer">
            {id.slice(0, 8)}
          </a>
        </span>
      ))}
    </span>
  )
}
