import { useMemo, useState } from 'preact/hooks'
import { canReadBodies, client, session } from '../../api.ts'
import { useResource } from '../../data/resource.ts'
import { formatBytes } from '../../format.ts'
import { copyText } from '../../parts/copy.tsx'
import { download } from '../../parts/download.ts'
import { Failure, Skeleton } from '../../parts/feedback.tsx'
import { texts } from '../../texts.ts'
import { parseJson } from './json-text.ts'
import { JsonTree } from './json-tree.tsx'
import type { Chain } from './timeline.ts'

const words = texts.event
/** Larger bodies are shown as text: for a tree, the browser would hold them twice. */
const MAX_TREE_CHARS = 2_000_000
/** The length of a body that is shown as text. */
const MAX_RAW_CHARS = 200_000

export interface StoredBody {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Undefined: the body is not text in UTF-8. */
  readonly text: string | undefined
}

export async function readBody(id: string, signal?: AbortSignal): Promise<StoredBody> {
  const response = await client.get('/events/{id}/body', { params: { id }, ...(signal ? { signal } : {}) })
  const bytes = new Uint8Array(await response.arrayBuffer())
  try {
    return { bytes, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    // Bytes that are not text are offered as a file.
    return { bytes, text: undefined }
  }
}

/**
 * The body, if this caller may see it. Each view is recorded in the audit, so the user must request
 * it.
 */
export function Body({ receipt }: { readonly receipt: Chain['receipt'] }) {
  // With `hookonce dev` there is one user, so views need no audit.
  const [isWanted, setWanted] = useState(session.value?.name === 'local:loopback')
  if (receipt.unreadable) return <p class="panel-note">{receipt.unreadable.message}</p>
  if (receipt.bodyBytes === null) return <p class="panel-note">{words.bodyGone}</p>
  if (!canReadBodies.value) return <p class="panel-note">{words.bodyDenied}</p>
  if (isWanted) return <ShownBody id={receipt.id} />
  return (
    <div class="panel-note">
      <p>{words.bodyAudit}</p>
      <button type="button" onClick={() => setWanted(true)}>
        {words.showBody(formatBytes(receipt.bodyBytes))}
      </button>
    </div>
  )
}

function ShownBody({ id }: { readonly id: string }) {
  const { data, error, reload } = useResource((signal) => readBody(id, signal), [id])
  const [view, setView] = useState<'tree' | 'raw'>('tree')
  const tree = useMemo(
    () => (data?.text !== undefined && data.text.length <= MAX_TREE_CHARS ? parseJson(data.text) : undefined),
    [data],
  )
  if (!data) return error === undefined ? <Skeleton rows={6} /> : <Failure error={error} onRetry={reload} />
  const { text, bytes } = data
  return (
    <>
      <div class="body-bar">
        <span class="muted">{formatBytes(bytes.length)}</span>
        <span class="right" />
        {tree && (
          <button type="button" class="small quiet" onClick={() => setView(view === 'tree' ? 'raw' : 'tree')}>
            {view === 'tree' ? words.raw : words.tree}
          </button>
        )}
        {text !== undefined && (
          <button type="button" class="small quiet" onClick={() => void copyText(text)}>
            {texts.copy}
          </button>
        )}
        <button type="button" class="small quiet" onClick={() => download(bytes, `${id}.body`)}>
          {words.download}
        </button>
      </div>
      {tree && view === 'tree' ? <JsonTree node={tree} /> : <Raw text={text} />}
    </>
  )
}

function Raw({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return <p class="panel-note">{words.binary}</p>
  const isCut = text.length > MAX_RAW_CHARS
  return (
    <>
      <pre class="raw">{isCut ? text.slice(0, MAX_RAW_CHARS) : text}</pre>
      {isCut && <p class="panel-note">{words.cut}</p>}
    </>
  )
}
