import '../supported-node.ts'

export type { Message, Publish } from './contract.ts'
export { toHttp } from './http.ts'
export { toJetStream } from './jetstream.ts'
export { toRedisStream } from './redis-streams.ts'
