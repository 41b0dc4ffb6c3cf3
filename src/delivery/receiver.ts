import type { BodyLimits } from '../http/bounded-body.ts'
import type { HeldBytes } from '../http/held-bytes.ts'
import type { ErrorCode } from '../model/errors.ts'
import type { Answer } from './answer.ts'
import type { Head } from './request.ts'

/** Answers each request that arrives through node:http or the fetch standard. */
export interface Receiver<Reply = Answer> {
  /** Refuses a request before its body is read, if possible. */
  admit(head: Head): Reply | undefined
  receive(head: Head, body: Uint8Array): Promise<Reply>
  /** Refuses a request whose body could not be read. */
  refuse(head: Head, code: ErrorCode, detail: string): Reply
  /** The limits on reading the body of this request. */
  limitsOf(head: Head): BodyLimits
  /** Bodies being read and events being recorded or handled. */
  readonly held: HeldBytes
}
