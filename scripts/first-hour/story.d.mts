export interface Step {
  readonly page: string
  readonly line: number
  readonly step: string
  /** The block, paragraph or table below the step. */
  readonly text: string
}
export function stepsOf(page: string, markdown: string): Step[]
export function quoted(text: string): string[]
