/**
 * Installs a package of Debian as root. `missing` is the error where that cannot be done.
 */
export function installDebian(name: string, missing: string): void
