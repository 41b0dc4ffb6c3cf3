import { userInfo } from 'node:os'
import { HookonceError } from '../model/errors.ts'
import type { DecisionReason } from '../operate/audit.ts'

/**
 * The actor for the audit: `--by`, else the name of the user. The prefix distinguishes the command
 * line from a token of the same name: no token has a colon in its name.
 */
export function actorOf(by: string | undefined): string {
  return `cli:${by ?? userName()}`
}

interface GivenReason {
  readonly by?: string | undefined
  readonly why?: string | undefined
}

/** The actor and the reason for the audit, for commands that do not require `--why`. */
export function reasonOf({ by, why }: GivenReason = {}): DecisionReason {
  if (why?.trim() === '')
    throw new HookonceError('CONFIG_INVALID', '--why is empty: give the reason, or leave it out')
  return { by: actorOf(by), why: why ?? 'by the command line' }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a user id that its image does not name.
    return `uid-${process.getuid?.() ?? 'unknown'}`
  }
}
