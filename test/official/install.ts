import { installPackage } from '../support/install-package.ts'

/** Installs the providers' code before the proofs run. */
export default function install(): void {
  installPackage(import.meta.dirname)
}
