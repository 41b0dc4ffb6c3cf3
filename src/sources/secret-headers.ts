/**
 * The headers in which providers of the catalogue send the secret itself. This is a list, because a
 * process that only shows events need not load the catalogue. A test compares the two.
 */
export const SECRET_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'honeybadger-token',
  'verification-token',
  'x-gitlab-token',
  'x-telegram-bot-api-secret-token',
  'x-webhook-secret',
])
