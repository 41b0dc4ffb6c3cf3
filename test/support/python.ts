import { spawnSync } from 'node:child_process'
import { installDebian } from '../../scripts/debian.mjs'

/** Where Debian installs packages for. Another Python on the PATH does not find them. */
const PLACES = ['/usr/bin/python3', 'python3']

/** A Python that can talk to PostgreSQL; on Debian as root, its driver is installed. */
export function pythonWithPostgres(): string {
  const found = PLACES.find(hasDriver)
  if (found !== undefined) return found
  installDebian('python3-psycopg2', 'the tests need Python with psycopg2: install python3-psycopg2')
  return '/usr/bin/python3'
}

function hasDriver(python: string): boolean {
  return spawnSync(python, ['-c', 'import psycopg2']).status === 0
}
