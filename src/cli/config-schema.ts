import { configJsonSchema } from '../gateway/config/json-schema.ts'
import { type Command, parse } from './command.ts'
import { printJson } from './print.ts'

const usage = `hookonce config-schema [--json]

Prints the JSON Schema of the configuration of \`hookonce serve\`, for editors and other tools. The same file is in the
package: node_modules/hookonce/dist/gateway/config.schema.json.
The output is always JSON.`

export const configSchemaCommand: Command = {
  usage,
  async run(args) {
    parse({ usage }, args, { json: { type: 'boolean', default: false } })
    printJson(configJsonSchema())
  },
}
