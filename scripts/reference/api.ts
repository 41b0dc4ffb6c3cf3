import { routes } from '../../src/gateway/api/routes.ts'
import { code, markdownTable } from './markdown.ts'

export function routeTable(): string {
  const rows = routes.map(({ method, path, access, summary }) => [
    code(`${method} ${path}`),
    `${access.role}${access.scope === 'ledger' ? '*' : ''}`,
    summary,
  ])
  return markdownTable(['route', 'least role', 'what it does'], rows)
}
