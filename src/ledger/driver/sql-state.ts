/** Where libraries put the error of the driver that they wrap. */
const INSIDE = ['cause', 'driverError', 'driverAdapterError', 'meta', 'nativeError'] as const
/** Deeper than any of them wraps; an error may also be its own cause. */
const DEEPEST = 6

/** The code by which PostgreSQL names a failure, however deep a library has wrapped it; else the outermost code. */
export function sqlStateOf(error: unknown, depth = 0): string {
  if (typeof error !== 'object' || error === null || depth > DEEPEST) return ''
  for (const name of INSIDE) {
    const found = sqlStateOf(Reflect.get(error, name), depth + 1)
    if (found !== '') return found
  }
  const code = Reflect.get(error, 'originalCode') ?? Reflect.get(error, 'code')
  return typeof code === 'string' ? code : ''
}
