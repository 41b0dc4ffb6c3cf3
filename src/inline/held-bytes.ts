/** The bytes that all requests hold together: bodies being read, and events being handled. */
export interface HeldBytes {
  hasRoomFor(bytes: number): boolean
  /** What one request holds of them. */
  share(): Share
}

export interface Share {
  /** Counts them; false where they are too many. */
  mayHold(bytes: number): boolean
  letGo(): void
}

export function heldBytes(maxBytes: number): HeldBytes {
  let held = 0
  return {
    hasRoomFor: (bytes) => held + bytes <= maxBytes,
    share() {
      let own = 0
      return {
        mayHold(bytes) {
          own += bytes
          held += bytes
          return held <= maxBytes
        },
        letGo() {
          held -= own
          own = 0
        },
      }
    },
  }
}
