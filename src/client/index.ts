export type { StreamedChange } from '../gateway/api/stream.ts'
export { ApiError } from './api-error.ts'
export { type AdminClient, adminClient, type ClientOptions } from './client.ts'
export type { GetPath, ItemOf, PostPath, RequestOf, ResponseOf } from './paths.ts'
