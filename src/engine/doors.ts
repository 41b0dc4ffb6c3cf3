import type { Doors } from '../delivery/doors.ts'
import { responseOf } from '../delivery/fetch.ts'
import { respond } from '../delivery/node.ts'
import { urlOf } from '../delivery/request.ts'
import { rawRequest, rawResponse } from '../http/framework-request.ts'
import { lastSegment } from '../http/last-segment.ts'
import { receiveBuffered, receiveFetch, receiveNode } from '../receive/doors.ts'
import type { Seat } from './seat.ts'

/** The doors of a receiver over a ledger. The first delivery opens the ledger. */
export function engineDoors(seat: Pick<Seat, 'engine'>): Doors {
  return {
    async node(request, response, { source } = {}) {
      try {
        const name = source ?? lastSegment(urlOf(rawRequest(request)))
        const { receiver } = await seat.engine.openForDelivery(name)
        await receiveNode(receiver, name, request, response)
      } catch (error) {
        respond(rawRequest(request), rawResponse(response), seat.engine.answerUnopened(error))
      }
    },
    async fetch(request, { source, peerAddress } = {}) {
      try {
        const name = source ?? lastSegment(new URL(request.url).pathname)
        const { receiver } = await seat.engine.openForDelivery(name)
        return await receiveFetch(receiver, name, request, peerAddress)
      } catch (error) {
        return responseOf(seat.engine.answerUnopened(error))
      }
    },
    async buffered(request, { source, peerAddress } = {}) {
      try {
        const name = source ?? lastSegment(request.url)
        const { receiver } = await seat.engine.openForDelivery(name)
        return await receiveBuffered(receiver, name, request, peerAddress)
      } catch (error) {
        return responseOf(seat.engine.answerUnopened(error))
      }
    },
  }
}
