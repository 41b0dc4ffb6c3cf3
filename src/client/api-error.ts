/** The API refused a request, or failed. `problem` is its problem document. */
export class ApiError extends Error {
  readonly status: number
  /**
   * A code of the error catalogue, such as RECEIPT_UNKNOWN. Undefined: the answer was not from
   * hookonce.
   */
  readonly code: string | undefined
  readonly retryable: boolean
  readonly problem: Readonly<Record<string, unknown>>

  constructor(status: number, problem: Readonly<Record<string, unknown>>) {
    const { code, detail, title, retryable } = problem
    super(`${status} ${String(code ?? '')} ${String(detail ?? title ?? '')}`.trim())
    this.name = 'ApiError'
    this.status = status
    this.code = typeof code === 'string' ? code : undefined
    this.retryable = retryable === true
    this.problem = problem
  }
}

export async function errorOf(response: Response): Promise<ApiError> {
  const isProblem = /json/.test(response.headers.get('content-type') ?? '')
  const text = await response.text()
  let problem: unknown
  try {
    problem = isProblem ? JSON.parse(text) : undefined
  } catch {
    // A proxy may have truncated the body: only the status is known.
    problem = undefined
  }
  return new ApiError(response.status, isRecord(problem) ? problem : { detail: text.slice(0, 200) })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
