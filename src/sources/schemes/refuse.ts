import type { ErrorCode } from '../../model/errors.ts'
import type { Refusal } from '../contract.ts'

export function refuse(code: ErrorCode, detail: string): Refusal {
  return { ok: false, code, detail }
}
