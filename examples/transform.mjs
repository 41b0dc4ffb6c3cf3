/** Sends what the app needs, and nothing for test events. */
export default function transform(event) {
  if (event.payload.livemode === false) return undefined
  return {
    body: { id: event.key, type: event.type, object: event.object },
    headers: { 'x-tenant': event.tenant },
  }
}
