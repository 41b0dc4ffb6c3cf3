// The handlers of the crash tests, by mode. A process may be killed or frozen at `reach(point)`.

const ROW = 'insert into effect (receipt_id, type, pid) values ($1, $2, $3)'

export function crashHandler({ mode, downstream, reach }) {
  const call = async (path, send) => {
    reach('before the call')
    const reply = await send(`${downstream}/${path}`)
    reach('after the call')
    return reply.json()
  }
  const post = { method: 'POST', body: '{}' }
  const reconcile = async ({ idempotencyKey }) => {
    const reply = await fetch(`${downstream}/keys/${idempotencyKey}`)
    return reply.ok ? { outcome: 'done', result: await reply.json() } : { outcome: 'not done' }
  }
  const external = (options) => (event, ctx) =>
    ctx.effect(event.payload.key, ({ fetch }) => call(event.payload.key, (url) => fetch(url, post)), options)

  const acts = {
    keyed: external({}),
    atMostOnce: external({ mode: 'atMostOnce' }),
    atLeastOnce: external({ mode: 'atLeastOnce' }),
    reconcile: external({ mode: 'atMostOnce', reconcile }),
    step: (event, ctx) =>
      ctx.step('step', ({ idempotencyKey }) =>
        call(event.key, (url) => fetch(url, { ...post, headers: { 'idempotency-key': idempotencyKey } })),
      ),
    tx: (event, ctx) =>
      ctx.transaction((tx) =>
        tx.effect(event.payload.key, async () => {
          await tx.query(ROW, [event.receiptId, event.payload.key, process.pid])
          reach('inside the transaction')
        }),
      ),
    last: (event, ctx) =>
      ctx.transaction((tx) => tx.query(ROW, [event.receiptId, event.key, process.pid]), { last: true }),
    latest: (event, ctx) =>
      ctx.latest(event.payload.key, event.payload.version, async (tx) => {
        await tx.query('insert into applied (entity, version) values ($1, $2)', [
          event.payload.key,
          event.payload.version,
        ])
        reach('inside the transaction')
      }),
    write: (event, ctx) =>
      ctx.write({ text: ROW, values: [event.receiptId, event.key, process.pid], rows: 1 }),
  }

  return async (event, ctx) => {
    reach('the handler begins')
    await acts[mode](event, ctx)
    reach('the handler ends')
  }
}
