import { spawnSync } from 'node:child_process'
import { installDebian } from '../../scripts/debian.mjs'

/** The Python for which Debian installs packages. Another Python on the PATH does not find them. */
const PLACES = ['/usr/bin/python3', 'python3']

/** A Python with a PostgreSQL driver. On Debian as root, the driver is installed. */
export function pythonWithPostgres(): string {
  const found = PLACES.find(hasDriver)
  if (found !== undefined) return found
  installDebian('python3-psycopg2', 'the tests need Python with psycopg2: install python3-psycopg2')
  return '/usr/bin/python3'
}

function hasDriver(python: string): boolean {
  return spawnSync(python, ['-c', 'import psycopg2']).status === 0
}
