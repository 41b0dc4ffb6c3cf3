/**
 * The metrics of several processes as one: what each counted itself is added up. Gauges are read from the ledger, so
 * every process tells the same of them, and the first one's word is taken.
 */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, Family>()
  for (const text of texts) {
    let family: Family | undefined
    for (const line of text.split('\n').filter(Boolean)) {
      if (line.startsWith('# ')) family = declare(families, line)
      else if (family) add(family, line)
    }
  }
  return [...families.values()].flatMap(linesOf).concat('').join('\n')
}

interface Family {
  /** Its HELP and TYPE, which all processes tell alike. */
  readonly head: Set<string>
  isGauge: boolean
  /** By name and labels. */
  readonly samples: Map<string, number>
}

/** `# HELP name text` or `# TYPE name type`. */
function declare(families: Map<string, Family>, line: string): Family {
  const [, word, name = '', type] = line.split(' ')
  const family = families.get(name) ?? { head: new Set(), isGauge: false, samples: new Map() }
  families.set(name, family)
  family.head.add(line)
  if (word === 'TYPE') family.isGauge = type === 'gauge'
  return family
}

function add({ samples, isGauge }: Family, line: string): void {
  const cut = line.lastIndexOf(' ')
  const [name, value] = [line.slice(0, cut), Number(line.slice(cut + 1))]
  const before = samples.get(name)
  samples.set(name, before === undefined ? value : isGauge ? before : before + value)
}

function linesOf({ head, samples }: Family): string[] {
  return [...head, ...[...samples].map(([name, value]) => `${name} ${value}`)]
}
