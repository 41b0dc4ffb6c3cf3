import { hookonce } from 'hookonce'

/** The database of the app. Without DATABASE_URL: a PostgreSQL of its own, under .hookonce/. */
export async function databaseUrl(): Promise<string> {
  if (process.env.DATABASE_URL) return process.env.DATABASE_URL
  const { url } = await hookonce({ sources: {} }).ledger()
  if (!url) throw new Error('set DATABASE_URL')
  return url
}
