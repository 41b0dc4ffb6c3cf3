/** A receipt to be recorded. */
export interface NewReceipt {
  readonly id: string
  readonly shard: number
  readonly tenant: string
  readonly source: string
  readonly eventKey: string
  readonly eventType: string
  readonly objectId: string | undefined
  readonly occurredAtMs: number | undefined
  readonly secret: number
  readonly headers: string
  readonly body: Uint8Array
  /** The hash of the body, if the payload will be encrypted. */
  readonly keyedHash?: Uint8Array | undefined
  /** The encrypted payload. With it, headers and body are not stored. */
  readonly seal?: ReceiptSeal | undefined
  /**
   * How long the key is kept. An older receipt with this key counts as expired, whether or not it
   * was deleted.
   */
  readonly keySeconds: number
}

/** A receipt and its new jobs. */
export interface NewWork {
  readonly receipt: NewReceipt
  readonly jobs: readonly NewJob[]
}

export interface NewJob {
  readonly subscriber: number
  /** Requests that the job is born leased to the worker of this process. */
  readonly bornLeased: boolean
  /** The id of its order key, if its subscriber is ordered. Such a job waits for its turn. */
  readonly orderKey?: string | undefined
}

export interface ReceiptSeal {
  readonly bytes: Uint8Array
  /** The number of the data key that opens it. */
  readonly dataKey: number
}
