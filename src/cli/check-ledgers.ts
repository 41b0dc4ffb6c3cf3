import { check, faultText } from '../input/checked.ts'
import { ledgersFaults } from '../input/ledgers-faults.ts'
import { ledgersSchema } from '../input/ledgers-options.ts'
import { HookonceError } from '../model/errors.ts'
import type { LedgersOptions } from '../model/ledger-names.ts'

/** Checks ledgers that are given as a text: a number, or the option `ledgers` as JSON. */
export function checkLedgers(text: string, schema: string, where: string): LedgersOptions {
  const ledgers = check(ledgersSchema, parsed(text, where), where)
  const faults = ledgersFaults(schema, ledgers)
  if (faults.length === 0) return ledgers
  throw new HookonceError('CONFIG_INVALID', `${where}: ${faults.map(faultText).join('; ')}`)
}

function parsed(text: string, where: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const fault = `${where} must be a number of ledgers, or JSON such as {"count":8}, not "${text}"`
    throw new HookonceError('CONFIG_INVALID', fault, { cause: error })
  }
}
