import type { Engine } from './engine.ts'

/** The engine of one ledger, with the sources of the tenants that live there. */
export interface Station {
  readonly ledger: string
  readonly engine: Engine
}
