import { client } from '../../api.ts'
import { useResource } from '../../data/resource.ts'
import { Empty } from '../../parts/feedback.tsx'
import { texts } from '../../texts.ts'

const words = texts.firstEvent

/** Shows a new user the exact command for the first event. */
export function FirstEvent() {
  const gateway = useResource((signal) => client.get('/gateway', { signal }), [])
  const sources = useResource((signal) => client.get('/sources', { query: { limit: 1 }, signal }), [])
  if (!gateway.data) return <Empty title={words.title} />
  const [first] = sources.data?.data ?? []
  const command = gateway.data.firstEvent ?? words.trigger(first?.source ?? 'stripe')
  return (
    <Empty title={words.title} command={command}>
      {gateway.data.firstEvent === null ? words.hintServe : words.hintDev}
    </Empty>
  )
}
