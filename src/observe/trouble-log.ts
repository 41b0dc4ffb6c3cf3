import { type Logger, logs } from './logs.ts'

/** Logs errors of the admin API, limited like all lines that an outage may cause. */
export function troubleLog(logger: Logger): (error: unknown) => void {
  const observer = logs(logger)
  return (error) => observer.trouble({ doing: 'answering the admin API', error })
}
