/** The bytes that all requests hold together: bodies being read, and requests being handled. */
export interface HeldBytes {
  hasRoomFor(bytes: number): boolean
  /** What one request holds of them. */
  share(): Share
}

export interface Share {
  /** Counts the bytes. False where the limit is exceeded. */
  mayHold(bytes: number): boolean
  letGo(): void
}

/** How many bytes are held now. */
export interface HeldCount {
  bytes: number
}

/** `count` is passed where several limits watch the same bytes. */
export function heldBytes(maxBytes: number, count: HeldCount = { bytes: 0 }): HeldBytes {
  return {
    hasRoomFor: (bytes) => count.bytes + bytes <= maxBytes,
    share() {
      let own = 0
      return {
        mayHold(bytes) {
          own += bytes
          count.bytes += bytes
          return count.bytes <= maxBytes
        },
        letGo() {
          count.bytes -= own
          own = 0
        },
      }
    },
  }
}
