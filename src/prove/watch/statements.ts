/*
 * The effect of a receiver's statement on its transaction, judged by its text. A plain SELECT that
 * calls a writing function is not recognised as a write.
 */

const WRITES =
  /\b(insert\s+into|update|delete\s+from|merge\s+into|copy|truncate)\s+(?:only\s+)?((?:"[^"]+"|[\w$]+)(?:\.(?:"[^"]+"|[\w$]+))?)/gi

/** `insert into payments`, for each write of the statement. */
export function writesOf(sql: string): string[] {
  if (/^\s*(select|show|set|fetch|listen|notify)\b/i.test(sql)) return []
  const text = sql.replaceAll(/'(?:[^']|'')*'/g, "''").replaceAll(/--[^\n]*/g, '')
  const found = [...text.matchAll(WRITES)].map(
    ([, verb = '', table = '']) =>
      `${verb.replaceAll(/\s+/g, ' ').toLowerCase()} ${table.replaceAll('"', '')}`,
  )
  // `on conflict do update set` and `for update of` name no further table.
  return [...new Set(found)].filter((write) => !/^update (set|of|nowait|skip)$/i.test(write))
}

export function beginsTransaction(sql: string): boolean {
  return /^\s*(begin|start\s+transaction)\b/i.test(sql)
}

export function commits(sql: string): boolean {
  return /^\s*(commit|end)\b/i.test(sql)
}

export function rollsBack(sql: string): boolean {
  return /^\s*(rollback|abort)\b(?!\s+(?:work\s+|transaction\s+)?to\b)/i.test(sql)
}
