import type { StreamedChange } from 'hookonce/client'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { isAborted } from '../api.ts'
import { useRefresh } from './refresh.ts'

/** Data that is read from the API. While it is read again, the old data stays. */
export interface Resource<Data> {
  readonly data: Data | undefined
  /** The error of the last read. Older data may still be shown. */
  readonly error: unknown
  readonly isLoading: boolean
  reload(): void
}

export interface ResourceOptions {
  /** How often the data may be read again after changes. */
  readonly refreshMs?: number
  /** Selects the changes that count. Without it, all changes count. */
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
  /** Whether something changed during the read. */
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
   * Lets a read in progress finish. On a slow gateway, a read that restarts at each change would
   * never finish.
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
