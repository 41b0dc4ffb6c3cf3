import { join } from 'node:path'
import { installPackage } from '../support/install-package.ts'

/** Installs the previous majors of the frameworks before the tests that mount hookonce in them. */
export default function install(): void {
  installPackage(join(import.meta.dirname, 'previous'))
}
