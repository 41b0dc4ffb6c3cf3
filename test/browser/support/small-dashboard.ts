import { ADMIN_TOKEN, type AdminApi, adminApi } from '../../support/admin-api.ts'
import type { TestDatabase } from '../../support/database.ts'
import { type OpenedPage, openPage, type View } from './open-page.ts'

/*
 * A dashboard over the test's own small ledger, for actions: the test reads their result in the
 * database.
 */
export interface SmallDashboard extends Pick<AdminApi, 'token'> {
  /** Opens a path, with the admin token unless another token is given. */
  open(path: string, view?: Omit<View, 'dashboard'>): Promise<OpenedPage>
}

export async function smallDashboard(
  db: TestDatabase,
  { hasWorker = false }: { readonly hasWorker?: boolean } = {},
): Promise<SmallDashboard> {
  const { adminPort, token } = await adminApi({ db, args: hasWorker ? [] : ['--receive-only'] })
  const dashboard = `http://127.0.0.1:${adminPort}`
  return { token, open: (path, view) => openPage(path, { token: ADMIN_TOKEN, ...view, dashboard }) }
}
