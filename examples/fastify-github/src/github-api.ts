/** What the app needs of GitHub's API. */
export interface GitHubApi {
  /** Comments on a pull request. */
  comment(on: PullRequest, body: string, signal: AbortSignal): Promise<void>
  /** Whether one of the comments contains the text. */
  hasComment(on: PullRequest, text: string, signal: AbortSignal): Promise<boolean>
}

export interface PullRequest {
  /** Such as `octo-org/app`. */
  readonly repository: string
  readonly number: number
}

export function githubApi({
  token,
  url = 'https://api.github.com',
}: {
  token?: string
  url?: string
}): GitHubApi {
  async function call(path: string, init: RequestInit): Promise<Response> {
    const reply = await fetch(`${url}${path}`, {
      ...init,
      headers: {
        accept: 'application/vnd.github+json',
        ...(token ? { authorization: `Bearer ${token}` } : {}),
      },
    })
    if (!reply.ok) throw new Error(`GitHub answered ${reply.status} for ${path}`)
    return reply
  }
  const comments = ({ repository, number }: PullRequest) => `/repos/${repository}/issues/${number}/comments`
  return {
    async comment(on, body, signal) {
      await call(comments(on), { method: 'POST', body: JSON.stringify({ body }), signal })
    },
    async hasComment(on, text, signal) {
      for (let page = 1; ; page += 1) {
        const reply = await call(`${comments(on)}?per_page=100&page=${page}`, { signal })
        const found = (await reply.json()) as readonly { readonly body: string }[]
        if (found.some(({ body }) => body.includes(text))) return true
        if (found.length < 100) return false
      }
    },
  }
}
