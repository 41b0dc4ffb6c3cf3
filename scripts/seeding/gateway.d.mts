/** Of every source, and of what is forwarded. */
export const SIGNING_SECRET: string
export const ADMIN_TOKEN: string

/** A configuration whose sources and destinations are those of the seeded events. */
export function seededConfig(destinationUrl?: string): object

export interface SeededGateway {
  readonly port: number
  readonly adminPort: number
  stop(): Promise<void>
}

/** Starts `hookonce serve` that only receives, so that no worker touches the seeded jobs. */
export function serveSeeded(options: {
  readonly databaseUrl: string
  /** Where its configuration is written. */
  readonly dir: string
  readonly args?: readonly string[]
}): Promise<SeededGateway>
