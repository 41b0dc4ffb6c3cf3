import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { formatClock, formatCount } from '../format.ts'
import { shownTheme } from '../shell/theme.ts'
import { texts } from '../texts.ts'
import type { ChartSeries, PlotOptions } from './chart-engine.ts'

export interface ChartProps
  extends Pick<PlotOptions, 'times' | 'series'>,
    Partial<Pick<PlotOptions, 'format' | 'height'>> {
  readonly label: string
}

/** Lines over time. The legend shows the values under the pointer. */
export function Chart({ label, times, series, format = formatCount, height = 168 }: ChartProps) {
  const holder = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const [at, setAt] = useState<number | null>(null)
  const theme = shownTheme.value

  useEffect(() => {
    let isOver = false
    let observer: ResizeObserver | undefined
    void import('./chart-engine.ts').then(({ makePlot }) => {
      if (isOver || !holder.current) return
      const made = makePlot({ holder: holder.current, times, series, height, format, onPoint: setAt })
      plot.current = made
      observer = new ResizeObserver(([entry]) => {
        if (entry) made.setSize({ width: Math.floor(entry.contentRect.width), height })
      })
      observer.observe(holder.current)
    })
    return () => {
      isOver = true
      observer?.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
    // The effect below sets new values without a new plot.
  }, [theme, height, series.length])

  useEffect(() => {
    plot.current?.setData([times.map((ms) => ms / 1_000), ...series.map(({ values }) => [...values])])
  }, [times, series])

  const time = at === null ? undefined : times[at]
  return (
    <div class="card chart">
      <div class="legend">
        {series.map((one) => (
          <span key={one.label}>
            <i style={{ background: `var(${one.colour})` }} />
            {one.label}
            {at !== null && <b> {format(one.values[at] ?? 0)}</b>}
          </span>
        ))}
        {time !== undefined && <span class="right">{formatClock(new Date(time)).replace(/\.\d+$/, '')}</span>}
      </div>
      <div class="canvas" ref={holder} role="img" aria-label={summary(label, series, format)} />
    </div>
  )
}

/** A text for screen readers. */
function summary(label: string, series: readonly ChartSeries[], format: (value: number) => string): string {
  const parts = series.map(({ label: name, values }) => {
    const sum = values.reduce((all, value) => all + value, 0)
    return texts.chartPart(name, format(sum), format(Math.max(0, ...values)))
  })
  return `${label}. ${parts.join('. ')}`
}
