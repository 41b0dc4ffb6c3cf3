import type { BodyLimits } from '../http/bounded-body.ts'
import type { HeldBytes } from '../http/held-bytes.ts'
import type { ErrorCode } from '../model/errors.ts'
import type { Answer } from './answer.ts'
import type { Head } from './request.ts'

/** What stands behind the doors of node:http and the fetch standard, and answers each request. */
export interface Receiver<Reply = Answer> {
  /** Refuses what can be refused before the body is read. */
  admit(head: Head): Reply | undefined
  receive(head: Head, body: Uint8Array): Promise<Reply>
  /** Refuses a request whose body could not be read. */
  refuse(head: Head, code: ErrorCode, detail: string): Reply
  /** What reading the body of this request may cost. */
  limitsOf(head: Head): BodyLimits
  /** Bodies being read and events being recorded or handled. */
  readonly held: HeldBytes
}
