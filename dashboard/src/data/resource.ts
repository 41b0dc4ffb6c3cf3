import type { StreamedChange } from 'hookonce/client'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { isAborted } from '../api.ts'
import { useRefresh } from './refresh.ts'

/** Something that is read from the API. While it is read again, the old data stays. */
export interface Resource<Data> {
  readonly data: Data | undefined
  /** The error of the last read. Older data may still be shown. */
  readonly error: unknown
  readonly isLoading: boolean
  reload(): void
}

export interface ResourceOptions {
  /** Read again when something changes, at most this often. */
  readonly refreshMs?: number
  /** Which changes count. Without it, all of them. */
  readonly matters?: (change: StreamedChange) => boolean
}

/** Reads when the component appears, and again when one of `deps` changes. */
export function useResource<Data>(
  load: (signal: AbortSignal) => Promise<Data>,
  deps: readonly unknown[],
  { refreshMs, matters }: ResourceOptions = {},
): Resource<Data> {
  const [state, setState] = useState<Omit<Resource<Data>, 'reload'>>({
    data: undefined,
    error: undefined,
    isLoading: true,
  })
  const current = useRef<AbortController>(undefined)
  const isBusy = useRef(false)
  /** Something changed during the read. */
  const isStale = useRef(false)
  const latest = useRef(load)
  latest.current = load

  const reload = useCallback(() => {
    current.current?.abort()
    const own = new AbortController()
    current.current = own
    isBusy.current = true
    isStale.current = false
    setState((before) => ({ ...before, isLoading: true }))
    latest
      .current(own.signal)
      .then(
        (data) => {
          if (!own.signal.aborted) setState({ data, error: undefined, isLoading: false })
        },
        (error: unknown) => {
          if (!own.signal.aborted && !isAborted(error))
            setState(({ data }) => ({ data, error, isLoading: false }))
        },
      )
      .finally(() => {
        if (own.signal.aborted) return
        isBusy.current = false
        if (isStale.current) reload()
      })
  }, [])

  /**
   * Lets a read in progress finish. On a slow gateway, restarting it at each change would never
   * finish.
   */
  const refresh = useCallback(() => {
    if (isBusy.current) isStale.current = true
    else reload()
  }, [])

  useEffect(() => {
    reload()
    return () => current.current?.abort()
  }, [reload, ...deps])
  useRefresh(refresh, refreshMs, matters)
  return { ...state, reload }
}
