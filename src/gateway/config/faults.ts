import { type Fault, faultText, InvalidOptions } from '../../input/checked.ts'
import { type ErrorCode, HookonceError } from '../../model/errors.ts'
import type { ReadFile } from './read-file.ts'
import { readSecret } from './secrets.ts'

/** A fault of a file, with its code in the catalogue. */
interface FileFault extends Fault {
  readonly code: ErrorCode
}

/** One error for all faults of a file, each with its place. */
function configError({ file, placeOf }: ReadFile, faults: readonly Fault[]): HookonceError {
  const lines = faults.map((fault) => `${placeOf(fault)}: ${faultText(fault)}`)
  // Sorted by their place in the file.
  lines.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  const [only, ...others] = lines
  const text =
    others.length === 0 ? (only ?? '') : `${file} has ${lines.length} faults\n  ${lines.join('\n  ')}`
  return new HookonceError(codeOf(faults), text)
}

/** The common code of all faults, if there is one. */
function codeOf(faults: readonly Partial<FileFault>[]): ErrorCode {
  const codes = new Set(faults.map(({ code }) => code ?? 'CONFIG_INVALID'))
  const [only, ...others] = codes
  return only !== undefined && others.length === 0 ? only : 'CONFIG_INVALID'
}

type Path = readonly PropertyKey[]

/** Collects the faults of a file while its parts are created, so that all are reported at once. */
export function faultCollector(env: NodeJS.ProcessEnv) {
  const faults: FileFault[] = []

  function report(fault: Fault, code: ErrorCode = 'CONFIG_INVALID'): void {
    faults.push({ ...fault, code })
  }

  /** Undefined: `make` threw. Faults of options are reported; `other` gets any other error. */
  async function reporting<Result>(
    path: Path,
    make: () => Promise<Result>,
    other: (error: HookonceError) => void,
  ): Promise<Result | undefined> {
    try {
      return await make()
    } catch (error) {
      if (!(error instanceof HookonceError)) throw error
      if (error instanceof InvalidOptions) {
        for (const fault of error.faults) report({ ...fault, path: [...path, ...fault.path] })
      } else other(error)
      return undefined
    }
  }

  return {
    report,
    /** A secret of a source. Undefined: its fault was reported. */
    sourceSecret(reference: string, path: Path): string | undefined {
      const read = readSecret(reference, env)
      if ('text' in read) return read.text
      report({ path, message: read.message }, read.code)
      return undefined
    },
    /** Any other secret. The advice of SECRET_MISSING is about sources, so `use` explains it. */
    secret(reference: string, path: Path, use: string): string | undefined {
      const read = readSecret(reference, env)
      if ('text' in read) return read.text
      report({ path, message: read.code === 'SECRET_MISSING' ? `${read.message}: ${use}` : read.message })
      return undefined
    },
    /** Reports the faults that a provider finds. */
    attempt: <Result>(path: Path, make: () => Promise<Result>): Promise<Result | undefined> =>
      reporting(path, make, (error) =>
        report({ path, message: error.message.replace(`${error.code}: `, '') }, error.code),
      ),
    /** Reports options that a provider refuses, but no other fault, such as a missing secret. */
    onlyOptions: <Result>(path: Path, make: () => Promise<Result>): Promise<Result | undefined> =>
      reporting(path, make, () => undefined),
    hasFaults: (): boolean => faults.length > 0,
    hasFaultIn: (top: string): boolean => faults.some(({ path }) => path[0] === top),
    error: (read: ReadFile): HookonceError => configError(read, faults),
  }
}

export type FaultCollector = ReturnType<typeof faultCollector>
