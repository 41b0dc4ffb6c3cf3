import type { Answer } from '../delivery/answer.ts'
import type { Doors } from '../delivery/doors.ts'
import { responseOf } from '../delivery/fetch.ts'
import { respond } from '../delivery/node.ts'
import { rawRequest, rawResponse } from '../http/framework-request.ts'

/** Doors that are known once the tenant of their source has been placed. */
export function placedDoors(find: () => Promise<Doors>, answerUnplaced: (error: unknown) => Answer): Doors {
  const found = (): Promise<Doors | Answer> => find().catch(answerUnplaced)
  return {
    async node(request, response, entry) {
      const doors = await found()
      if ('node' in doors) return doors.node(request, response, entry)
      respond(rawRequest(request), rawResponse(response), doors)
    },
    async fetch(request, entry) {
      const doors = await found()
      return 'node' in doors ? doors.fetch(request, entry) : responseOf(doors)
    },
    async buffered(request, entry) {
      const doors = await found()
      return 'node' in doors ? doors.buffered(request, entry) : responseOf(doors)
    },
  }
}
