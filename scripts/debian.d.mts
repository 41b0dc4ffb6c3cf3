/** Installs a package of Debian as root. `missing` is the error if it cannot be installed. */
export function installDebian(name: string, missing: string): void
