import { HookonceError } from '../model/errors.ts'
import type { Sources } from '../options.ts'
import type { TestApp, TestHooks, TestHooksOptions } from './contract.ts'
import { testHooks } from './test-hooks.ts'

export interface TestGatewayOptions
  extends Pick<TestHooksOptions, 'server' | 'setup' | 'setupVersion' | 'start'> {
  /** The variables that the configuration refers to as `env:NAME`. Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv | undefined
  /** Other URLs for destinations, by name, such as the URL of an app that the test has started. */
  readonly urls?: Readonly<Record<string, string>> | undefined
}

/**
 * Runs the gateway of a configuration file on a fresh database. Its destinations are real: start
 * them in the test.
 *
 * ```ts
 * const urls = { app: 'http://127.0.0.1:5000' }
 * await using t = await testGateway('hookonce.config.yaml', { env, urls })
 * await t.deliver('stripe', 'invoice.paid', {}, { times: 3 })
 * ```
 */
export async function testGateway(
  file: string,
  { env = process.env, urls = {}, ...options }: TestGatewayOptions = {},
): Promise<TestHooks<Sources>> {
  // Imported only here: most tests have no gateway, and would load it and its YAML parser in vain.
  const [{ readConfig }, { deliveryPaths }, { gatewayHooks }] = await Promise.all([
    import('../gateway/config/config.ts'),
    import('../gateway/delivery-paths.ts'),
    import('../gateway/hooks.ts'),
  ])
  const config = await readConfig(file, env, { serves: true })
  const destinations = config.destinations.map((one) => ({ ...one, url: urls[one.name] ?? one.url }))
  const unknown = Object.keys(urls).find((name) => !destinations.some((one) => one.name === name))
  if (unknown !== undefined) {
    const names = destinations.map(({ name }) => `"${name}"`).join(', ')
    throw new HookonceError('CONFIG_INVALID', `urls: ${file} has no destination "${unknown}", only ${names}`)
  }
  const sourceAt = deliveryPaths(config.sources)
  const make = (database: string): TestApp<Sources> => {
    const hooks = gatewayHooks({ ...config, destinations }, { database })
    return {
      hooks,
      app(request, response) {
        const source = sourceAt(request.url ?? '')
        if (source === undefined) return void response.writeHead(404).end()
        void hooks.node({ source })(request, response)
      },
    }
  }
  return testHooks<Sources>(make, { ...options, path: (source) => `/in/${source}` })
}
