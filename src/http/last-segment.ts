/** The last segment of the path of a URL, decoded. It names the source of a delivery. */
export function lastSegment(url: string): string {
  const path = (url.split('?', 1)[0] ?? '').replace(/\/+$/, '')
  return decodeSegment(path.slice(path.lastIndexOf('/') + 1))
}

// Source names need no escaping, so a segment that cannot be decoded names no source.
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
