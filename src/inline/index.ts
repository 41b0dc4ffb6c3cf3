import '../supported-node.ts'

export { type Inline, type InlineHandler, inline } from './inline.ts'
export type { InlineOptions } from './options.ts'
