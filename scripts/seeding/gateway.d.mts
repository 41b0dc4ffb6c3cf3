/** The secret of every source and every destination. */
export const SIGNING_SECRET: string
export const ADMIN_TOKEN: string

/** A configuration with the sources and destinations of the seeded events. */
export function seededConfig(destinationUrl?: string): object

export interface SeededGateway {
  readonly port: number
  readonly adminPort: number
  stop(): Promise<void>
}

/** Starts a `hookonce serve` that only receives, so that no worker runs the seeded jobs. */
export function serveSeeded(options: {
  readonly databaseUrl: string
  /** The folder for its configuration. */
  readonly dir: string
  readonly args?: readonly string[]
}): Promise<SeededGateway>
