/** The inputs that limit the proof of a run. */
export interface Reach {
  readonly hasDatabase: boolean
  readonly hasDownstream: boolean
  readonly hasStart: boolean
  /**
   * The variable that directs the receiver through the proxy, and whether the receiver used the
   * proxy.
   */
  readonly databaseVariable: string
  readonly wasProxied: boolean
}

/** The limits of a run, each with advice. */
export function limitsOf(reach: Reach): string[] {
  const { hasDatabase, hasDownstream, hasStart, wasProxied, databaseVariable } = reach
  return [
    ...(hasDatabase ? [] : ['Rows were not compared: pass --database.']),
    ...(hasDownstream
      ? []
      : [
          'Calls to other services were not seen: pass --downstream PORT, and let the receiver call http://127.0.0.1:PORT.',
        ]),
    ...(hasStart ? [] : ['The receiver was never killed: pass --start with the command that starts it.']),
    ...(hasStart && hasDatabase && !wasProxied
      ? [
          `Commits were not seen, so it was not killed around them: the receiver did not take its database URL from ${databaseVariable}. Name the variable with --database-env.`,
        ]
      : []),
    'Effects in other places, such as files, caches and other databases, were not seen.',
    'Effects after the quiet time at the end of a schedule were not seen: --quiet makes it longer.',
    'Hours between two copies were not waited for: only the clock of a receiver in Node.js was moved, and with --age-rows the dates of its rows.',
    'These schedules found what is listed here. No test can show that there is no other fault.',
  ]
}
