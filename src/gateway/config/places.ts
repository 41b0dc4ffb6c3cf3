import { type Document, isMap, isNode, isPair, isScalar, type LineCounter, type Node } from 'yaml'
import type { Fault } from '../../input/checked.ts'

/** The place of a fault in the file: `hookonce.yaml:7:5`, or only the file if lines are unknown. */
export type PlaceOf = (fault: Pick<Fault, 'path' | 'key'>) => string

/** Places in a file of YAML or JSON. */
export function placesIn(file: string, document: Document, lines: LineCounter): PlaceOf {
  return ({ path, key }) => {
    const offset = offsetOf(document, path, key)
    const { line, col } = lines.linePos(offset)
    return `${file}:${line}:${col}`
  }
}

/** The offset of a value, or of the closest value around it if it is missing. */
function offsetOf(document: Document, path: readonly PropertyKey[], key: string | undefined): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = nodeAt(document, path.slice(0, length))
    if (node === undefined) continue
    const keyOffset = key !== undefined && length === path.length ? keyIn(node, key) : undefined
    return keyOffset ?? keyAt(document, path.slice(0, length), key) ?? node.range?.[0] ?? 0
  }
  return 0
}

/** The key at `path`, for a fault in the key itself. */
function keyAt(
  document: Document,
  path: readonly PropertyKey[],
  key: string | undefined,
): number | undefined {
  if (key === undefined || path.at(-1) !== key) return undefined
  const parent = nodeAt(document, path.slice(0, -1))
  return parent && keyIn(parent, key)
}

function keyIn(node: Node, key: string): number | undefined {
  if (!isMap(node)) return undefined
  const pair = node.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === key)
  return pair && isNode(pair.key) ? pair.key.range?.[0] : undefined
}

function nodeAt(document: Document, path: readonly PropertyKey[]): Node | undefined {
  const found = path.length === 0 ? document.contents : document.getIn(path, true)
  return isNode(found) ? found : undefined
}
