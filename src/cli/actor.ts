import { userInfo } from 'node:os'

/**
 * The actor for the audit: `--by`, else the name of the user. The prefix distinguishes the command
 * line from a token of the same name: no token has a colon in its name.
 */
export function actorOf(by: string | undefined): string {
  return `cli:${by ?? userName()}`
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a user id that its image does not name.
    return `uid-${process.getuid?.() ?? 'unknown'}`
  }
}
