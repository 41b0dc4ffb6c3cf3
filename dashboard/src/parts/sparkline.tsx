/** A small line without axes. Its values are also shown as numbers beside it. */
export function Sparkline({
  values,
  colour = '--accent',
}: {
  readonly values: readonly number[]
  readonly colour?: string
}) {
  const most = Math.max(1, ...values)
  const step = values.length > 1 ? 160 / (values.length - 1) : 160
  const points = values.map(
    (value, place) => `${(place * step).toFixed(1)},${(17 - (value / most) * 15).toFixed(1)}`,
  )
  return (
    <svg viewBox="0 0 160 18" width="160" height="18" preserveAspectRatio="none" aria-hidden="true">
      <polyline points={points.join(' ')} fill="none" stroke={`var(${colour})`} stroke-width="1.25" />
    </svg>
  )
}
