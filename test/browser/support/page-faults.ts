import type { Page } from 'playwright-core'

/*
 * Faults that must not happen on any page: an error on the console, an uncaught exception, a
 * violation of the content security policy, a failed request, a request to another host.
 */
export interface PageFaults {
  readonly found: readonly string[]
  /** Ignores these faults, which the test causes on purpose. */
  expect(pattern: RegExp): void
  /** Ignores the faults so far and all later faults, because the test is about them. */
  forget(): void
}

export function watchFaults(page: Page, origin: string): PageFaults {
  const found: string[] = []
  const expected: RegExp[] = []
  const add = (fault: string): void => {
    if (!expected.some((pattern) => pattern.test(fault))) found.push(fault)
  }
  page.on('console', (message) => {
    // Chromium also logs a line for each failed response, which is reported below with its status.
    if (message.type() !== 'error' || message.text().startsWith('Failed to load resource')) return
    add(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => add(`exception: ${error.stack ?? error.message}`))
  page.on('request', (request) => {
    const { protocol, origin: asked } = new URL(request.url())
    if (!['data:', 'blob:'].includes(protocol) && asked !== origin) add(`another host: ${request.url()}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400)
      add(`${response.status()}: ${response.request().method()} ${response.url()}`)
  })
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? 'no reason'
    // Leaving the page, or a newer request, aborts a request in progress.
    if (why !== 'net::ERR_ABORTED') add(`${why}: ${request.method()} ${request.url()}`)
  })
  return {
    found,
    expect: (pattern) => void expected.push(pattern),
    forget: () => {
      found.length = 0
      expected.push(/./)
    },
  }
}
