import '../supported-node.ts'

/* The configuration of the gateway in TypeScript: `hookonce/gateway`. */

export { defineConfig } from './config/define-config.ts'
export type { ConfigInput } from './config/schema.ts'
