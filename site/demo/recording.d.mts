import type { Page } from 'playwright-core'

export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}
export function recordDashboard(
  page: Page,
  options: { readonly dashboard: string; readonly events: number },
): Promise<Record<string, Answer>>
export function writeDemo(
  folder: string,
  options: { readonly base: string; readonly answers: Readonly<Record<string, Answer>> },
): void
