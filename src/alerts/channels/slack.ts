import { secretsOfPath, secretsOfQuery } from '../../http/mask.ts'
import { post } from '../../http/post.ts'
import { bodyText, headline } from '../message.ts'
import type { SendAlert } from './contract.ts'

/**
 * Posts text in the format of Slack's incoming webhooks, which Mattermost and Discord also accept.
 */
export function slackChannel({ url }: { readonly url: string }): SendAlert {
  // The path of the URL is the secret: it must not get into errors, which are stored and logged.
  const shownUrl = `${new URL(url).origin}/…`
  const secrets = [...secretsOfQuery(url), ...secretsOfPath(url)]
  return async (message, { signal }) => {
    const text = `*${escaped(headline(message))}*\n${escaped(bodyText(message))}`
    await post({
      url,
      shownUrl,
      secrets,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ text })),
      signal,
      failure: 'PUBLISH_FAILED',
    })
  }
}

/** Slack reads these three as markup: `<!channel>` in a name would notify everyone. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
