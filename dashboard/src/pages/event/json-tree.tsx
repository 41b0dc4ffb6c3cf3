import { useState } from 'preact/hooks'
import { texts } from '../../texts.ts'
import type { JsonNode } from './json-text.ts'

/* A tree of JSON. Large parts are closed until the user opens them, so any body can be shown. */

/** Parts below this depth are closed at first. */
const OPEN_DEPTH = 4
/** More children than this are shown in portions. */
const PORTION = 50
/** Longer strings are cut until the user expands them. */
const MAX_TEXT = 240

export interface JsonTreeProps {
  readonly node: JsonNode
}

export function JsonTree({ node }: JsonTreeProps) {
  return (
    <div class="json">
      <Value node={node} depth={0} after="" />
    </div>
  )
}

interface ValueProps {
  readonly node: JsonNode
  readonly depth: number
  /** The name before the value. */
  readonly name?: string
  /** The comma after the value. */
  readonly after: string
}

function Value({ node, depth, name, after }: ValueProps) {
  const label =
    name === undefined ? null : (
      <>
        <span class="json-name">{JSON.stringify(name)}</span>:{' '}
      </>
    )
  if (node.kind === 'object' || node.kind === 'array')
    return <Branch node={node} depth={depth} label={label} after={after} />
  return (
    <div class="json-line">
      {label}
      <Leaf node={node} />
      {after}
    </div>
  )
}

function Leaf({ node }: { readonly node: Exclude<JsonNode, { readonly kind: 'object' | 'array' }> }) {
  const [isWhole, setWhole] = useState(false)
  if (node.kind !== 'string') return <span class="json-number">{node.text}</span>
  const { value } = node
  const isCut = value.length > MAX_TEXT && !isWhole
  return (
    <>
      <span class="json-string">{JSON.stringify(isCut ? value.slice(0, MAX_TEXT) : value)}</span>
      {isCut && (
        <button type="button" class="json-more" onClick={() => setWhole(true)}>
          {texts.event.moreText(value.length - MAX_TEXT)}
        </button>
      )}
    </>
  )
}

interface BranchProps {
  readonly node: Extract<JsonNode, { readonly kind: 'object' | 'array' }>
  readonly depth: number
  readonly label: preact.ComponentChildren
  readonly after: string
}

function Branch({ node, depth, label, after }: BranchProps) {
  const children: readonly (readonly [string | undefined, JsonNode])[] =
    node.kind === 'object' ? node.entries : node.items.map((item) => [undefined, item] as const)
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH)
  const [shown, setShown] = useState(PORTION)
  const [open, close] = node.kind === 'object' ? ['{', '}'] : ['[', ']']
  if (children.length === 0)
    return (
      <div class="json-line">
        {label}
        {open}
        {close}
        {after}
      </div>
    )
  const toggle = (
    <button
      type="button"
      class="json-toggle"
      aria-expanded={isOpen}
      aria-label={texts.event.toggle}
      onClick={() => setOpen(!isOpen)}
    />
  )
  if (!isOpen)
    return (
      <div class="json-line">
        {toggle}
        {label}
        {open}
        <span class="faint"> {texts.event.parts(children.length)} </span>
        {close}
        {after}
      </div>
    )
  const left = children.length - shown
  return (
    <>
      <div class="json-line">
        {toggle}
        {label}
        {open}
      </div>
      <div class="json-inner">
        {children.slice(0, shown).map(([name, child], place) => (
          <Value
            // Names may repeat, so the position is the key. The order in a stored body never
            // changes.
            key={place}
            node={child}
            depth={depth + 1}
            {...(name === undefined ? {} : { name })}
            after={place < children.length - 1 ? ',' : ''}
          />
        ))}
        {left > 0 && (
          <button type="button" class="json-more" onClick={() => setShown(shown + PORTION * 10)}>
            {texts.event.moreParts(left)}
          </button>
        )}
      </div>
      <div class="json-line">
        {close}
        {after}
      </div>
    </>
  )
}
