import { userInfo } from 'node:os'

/**
 * Who decides, for the audit: `--by`, else the name of the user. The prefix distinguishes the
 * command line from a token of the same name: no token has a colon in its name.
 */
export function actorOf(by: string | undefined): string {
  return `cli:${by ?? userName()}`
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a number that no user of its image has.
    return `uid-${process.getuid?.() ?? 'unknown'}`
  }
}
