/** The meaning of each exit code. The help text and docs/reference/cli.md are made from it. */
export const exitCodes: Readonly<Record<number, string>> = {
  0: 'done; also if the output pipe was closed',
  1: 'an error, or a check that failed; the message says what to do',
  2: 'there is no such command; or `prove` could not run',
  130: 'stopped by Ctrl-C or SIGTERM before the end; the output lists the finished work',
}

export const INTERRUPTED = 130
