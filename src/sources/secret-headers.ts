/**
 * The headers in which providers of the catalogue send the secret itself. A list, because a process
 * that only shows events need not load the catalogue. A test compares it.
 */
export const SECRET_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'honeybadger-token',
  'verification-token',
  'x-gitlab-token',
  'x-telegram-bot-api-secret-token',
  'x-webhook-secret',
])
