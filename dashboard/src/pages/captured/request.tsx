import { ApiError } from 'hookonce/client'
import { canReadBodies, client } from '../../api.ts'
import { useResource } from '../../data/resource.ts'
import { Command } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { download } from '../../parts/download.ts'
import { Failure, Skeleton } from '../../parts/feedback.tsx'
import { setQuery } from '../../router.ts'
import { texts } from '../../texts.ts'

const words = texts.captured

/** One captured request: its configuration, its headers and its body. */
export function CapturedRequest({ id }: { readonly id: string }) {
  if (canReadBodies.value) return <Opened id={id} />
  return (
    <Dialog title={words.title} onClose={close}>
      <p>{words.locked}</p>
    </Dialog>
  )
}

function close(): void {
  setQuery({ request: undefined })
}

function Opened({ id }: { readonly id: string }) {
  const request = { params: { id } }
  const { data, error, reload } = useResource(
    async (signal) => {
      const [shown, body] = await Promise.all([
        client.get('/captured/{id}', { ...request, signal }),
        client.get('/captured/{id}/body', { ...request, signal }),
      ])
      const bytes = await body.arrayBuffer()
      return { ...shown, bytes, text: textOf(bytes) }
    },
    [id],
  )
  return (
    <Dialog title={data ? `${data.method} ${data.url}` : words.title} onClose={close}>
      {!data && error === undefined && <Skeleton rows={4} />}
      {!data && error !== undefined && !isGone(error) && <Failure error={error} onRetry={reload} />}
      {!data && isGone(error) && <p>{words.gone}</p>}
      {data && (
        <div class="captured-parts">
          <section>
            <h3>{words.configure}</h3>
            <Command text={data.advice} />
          </section>
          <section>
            <h3>{words.headers}</h3>
            <dl class="captured-headers">
              {data.headers.map(([name, value], index) => (
                <div key={`${name} ${index}`} style={{ display: 'contents' }}>
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
          </section>
          <section>
            <h3>{words.body}</h3>
            {data.bodyBytes === 0 && <p class="muted">{words.noBody}</p>}
            {data.isCut && <p class="muted">{words.isCut}</p>}
            {data.text === undefined && <p class="muted">{words.notText}</p>}
            {data.text !== undefined && data.text !== '' && <pre class="captured-body">{data.text}</pre>}
            {data.bodyBytes > 0 && (
              <button type="button" class="small" onClick={() => download(data.bytes, `${id}.body`)}>
                {words.download}
              </button>
            )}
          </section>
        </div>
      )}
    </Dialog>
  )
}

/** The gateway keeps a bounded number of requests. */
function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'CAPTURE_UNKNOWN'
}

/** Undefined: the bytes are not text. */
function textOf(bytes: ArrayBuffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
