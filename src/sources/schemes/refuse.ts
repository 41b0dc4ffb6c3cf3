import type { ErrorCode } from '../../model/errors.ts'
import type { Refusal } from '../contract.ts'

export function refuse(code: ErrorCode, detail: string): Refusal {
  return { ok: false, code, detail }
}

/** Refuses a delivery because of one header, or of several that may hold the same value. */
export function refuseHeader(code: ErrorCode, header: string, detail: string): Refusal {
  return { ok: false, code, detail, header }
}
