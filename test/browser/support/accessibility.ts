import axe from 'axe-core'
import type { Page } from 'playwright-core'

interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly target: unknown; readonly failureSummary?: string }[]
}

/**
 * The findings of axe on this page, as lines. Without `rules`, all its rules are checked. The
 * content security policy does not apply to evaluated code.
 */
export async function accessibilityFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(axe.source)
  const options = JSON.stringify({ resultTypes: ['violations'], runOnly: rules })
  const violations = await page.evaluate<Violation[]>(
    `axe.run(document, ${options}).then(({ violations }) => violations)`,
  )
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${String(target)}: ${failureSummary ?? ''}`),
  )
}
