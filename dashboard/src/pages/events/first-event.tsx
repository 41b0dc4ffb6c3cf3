import { client } from '../../api.ts'
import { useResource } from '../../data/resource.ts'
import { Empty } from '../../parts/feedback.tsx'
import { texts } from '../../texts.ts'

const words = texts.firstEvent

/** Shows a new user the exact command for the first event. */
export function FirstEvent() {
  const { data } = useResource((signal) => client.get('/gateway', { signal }), [])
  if (!data) return <Empty title={words.title} />
  const { firstEvent, captures } = data
  if (firstEvent === null) return <Empty title={words.title}>{words.hintNone}</Empty>
  return (
    <Empty title={words.title} command={firstEvent}>
      {captures ? words.hintDev : words.hintServe}
    </Empty>
  )
}
