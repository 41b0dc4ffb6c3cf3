import { HookonceError } from '../../model/errors.ts'
import { type Finding, fail, warn } from './finding.ts'

/** The timeout of a statement. */
export const QUERY_MS = 5_000
/** Checks that have not begun at this time are skipped. */
const BUDGET_MS = 20_000

export type Attempt = <Result>(check: string, work: () => Promise<Result>) => Promise<Result | undefined>

/** Runs a check. A check that throws is a finding too, and the next checks still run. */
export function attempts(findings: Finding[], startedAt: number): Attempt {
  return async (check, work) => {
    if (performance.now() - startedAt > BUDGET_MS) {
      findings.push(warn(check, 'not checked: the database answers too slowly', SLOW))
      return undefined
    }
    try {
      return await work()
    } catch (error) {
      findings.push(failedCheck(check, error))
      return undefined
    }
  }
}

const SLOW = 'look for locks and load on the server (pg_stat_activity), then run doctor again'

export function failedCheck(check: string, error: unknown): Finding {
  if (error instanceof HookonceError) return fail(check, withoutCode(error), error.advice)
  const message = error instanceof Error ? error.message : String(error)
  if (/timeout/i.test(message)) return warn(check, `no answer within ${QUERY_MS / 1_000} s`, SLOW)
  return warn(check, `not checked: ${message}`, 'run doctor with a role that may read this')
}

export function withoutCode({ code, message }: HookonceError): string {
  return message.replace(`${code}: `, '')
}
