import type { Handler } from '../../src/index.ts'

export function crashHandler(config: {
  mode: string
  downstream: string
  reach: (point: string) => void
}): Handler
