import { bufferedDoor } from '../delivery/buffered.ts'
import { fetchDoor, responseOf } from '../delivery/fetch.ts'
import { nodeDoor, respond } from '../delivery/node.ts'

/** For node:http, Express, Fastify and similar frameworks. */
export const receiveNode = nodeDoor(respond)
/** For frameworks that use the fetch standard. */
export const receiveFetch = fetchDoor(responseOf)
/** For requests whose body is in memory, such as requests of AWS Lambda. */
export const receiveBuffered = bufferedDoor(responseOf)
