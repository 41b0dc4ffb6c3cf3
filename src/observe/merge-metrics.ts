/**
 * The metrics of several processes as one: what each counted itself is added up. Gauges are read
 * from the ledger, so every process reports the same ones: those of the first text are taken.
 */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, Family>()
  for (const [index, text] of texts.entries()) {
    let family: Family | undefined
    for (const line of text.split('\n').filter(Boolean)) {
      if (line.startsWith('# ')) family = declare(families, line)
      else if (family && (index === 0 || !family.isGauge)) add(family, line)
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

function add({ samples }: Family, line: string): void {
  const cut = line.lastIndexOf(' ')
  const [name, value] = [line.slice(0, cut), Number(line.slice(cut + 1))]
  samples.set(name, (samples.get(name) ?? 0) + value)
}

function linesOf({ head, samples }: Family): string[] {
  return [...head, ...[...samples].map(([name, value]) => `${name} ${value}`)]
}
