import { hooks } from './hooks.ts'
import { CREATE_TABLES } from './tables.ts'

const { business } = await hooks().ledger()
await business.query(CREATE_TABLES)
await hooks().start()
console.log('the worker is running')

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    await hooks().stop() // lets running handlers finish
    process.exit()
  })
