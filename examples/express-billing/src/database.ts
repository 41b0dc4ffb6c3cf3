import { hookonce } from 'hookonce'

/** The database of the app. Without DATABASE_URL: a PostgreSQL of its own, under .hookonce/. */
export async function openDatabase(): Promise<{ url: string; close(): Promise<void> }> {
  const given = process.env.DATABASE_URL
  if (given) return { url: given, close: async () => undefined }
  const hooks = hookonce({ sources: {} })
  const { url } = await hooks.ledger()
  if (!url) throw new Error('set DATABASE_URL')
  return { url, close: () => hooks.stop() }
}
