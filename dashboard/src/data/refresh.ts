import type { StreamedChange } from 'hookonce/client'
import { useEffect, useRef } from 'preact/hooks'
import { onChange } from './live.ts'

/** Calls `run` after relevant changes, at most once in `everyMs`. Undefined: never. */
export function useRefresh(
  run: () => void,
  everyMs: number | undefined,
  matters: (change: StreamedChange) => boolean = () => true,
): void {
  const latest = useRef({ run, matters })
  latest.current = { run, matters }
  useEffect(() => {
    if (everyMs === undefined) return
    let timer: ReturnType<typeof setTimeout> | undefined
    let lastAt = 0
    const off = onChange((changes) => {
      const isWanted = changes.some((one) => one.type === 'skipped' || latest.current.matters(one))
      if (timer !== undefined || !isWanted) return
      const wait = Math.max(0, lastAt + everyMs - Date.now())
      timer = setTimeout(() => {
        timer = undefined
        lastAt = Date.now()
        latest.current.run()
      }, wait)
    })
    return () => {
      clearTimeout(timer)
      off()
    }
  }, [everyMs])
}
