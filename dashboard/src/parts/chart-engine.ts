import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { formatShort } from '../format.ts'

/* The charting library, in its own chunk: the page renders before it loads. */

export interface ChartSeries {
  readonly label: string
  /** The CSS variable of the colour, such as `--accent`. */
  readonly colour: string
  readonly values: readonly number[]
}

export interface PlotOptions {
  readonly holder: HTMLElement
  /** The times of the values, in milliseconds. */
  readonly times: readonly number[]
  readonly series: readonly ChartSeries[]
  readonly height: number
  readonly format: (value: number) => string
  readonly onPoint: (index: number | null) => void
}

export function makePlot({ holder, times, series, height, onPoint }: PlotOptions): uPlot {
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string): string => style.getPropertyValue(name).trim()
  const font = `11px ${colour('--font')}`
  const axis = { stroke: colour('--faint'), font, ticks: { show: false } }
  return new uPlot(
    {
      width: Math.floor(holder.clientWidth),
      height,
      padding: [8, 4, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      scales: { y: { range: (_, __, most) => [0, Math.max(4, most * 1.1)] } },
      series: [
        {},
        ...series.map((one, place) => ({
          label: one.label,
          stroke: colour(one.colour),
          width: place === 0 ? 2 : 1.5,
          points: { show: false },
        })),
      ],
      axes: [
        { ...axis, grid: { show: false }, values: clockTimes, space: 90, size: 24 },
        {
          ...axis,
          grid: { stroke: colour('--line'), width: 1 },
          values: (_, splits) => splits.map(formatShort),
          incrs: STEPS,
          size: 44,
          space: 36,
        },
      ],
      hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
    },
    [times.map((ms) => ms / 1_000), ...series.map(({ values }) => [...values])],
    holder,
  )
}

/** Counts are whole numbers, so the grid lines are too. */
const STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat()

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

function clockTimes(_: uPlot, splits: number[]): string[] {
  return splits.map((seconds) => {
    const date = new Date(seconds * 1_000)
    return date.getHours() === 0 && date.getMinutes() === 0 ? day.format(date) : clock.format(date)
  })
}
