import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Standby } from './database.ts'
import type { FaultName } from './nemesis.ts'

/*
 * Builds that break one promise. A checker that finds no fault in them would prove nothing about
 * the real build.
 */
interface Break {
  /** The files of the build that are changed. */
  readonly files: RegExp
  readonly replaced: RegExp
  readonly by: string
  /** The faults that reveal the break. */
  readonly shownBy: readonly FaultName[]
  /** The violation that the checker must report. Others can also have another cause, such as load. */
  readonly violates: RegExp
  /** The kind of standby that the faults need to reveal the break. */
  readonly standby?: Standby
}

const LOST_EVENT = /acknowledged, and not recorded|recorded as new/
const LOST_COMMIT = new RegExp(`${LOST_EVENT.source}|not exactly once in|a fresh replay was told to be done`)

export const BREAKS = {
  /** A worker that lost its lease still records its outcomes. */
  'no fence': {
    files: /^ledger\/(jobs\/(complete|settle|fence)|effects\/\w+)\.js$/,
    replaced: /\b(where|and)(\s+)(?:\w+\.)?fence = (\$\d+::\w+|\w+\.fence)/g,
    by: '$1$2($3 is not null or true)',
    shownBy: ['freeze', 'kill', 'loseReplies', 'crashDatabase'],
    violates:
      /not exactly once in|did not act exactly once|called more than once|out of order|a version fell/,
  },
  /** The sender is answered before the event is in the ledger. */
  'acknowledged early': {
    files: /^receive\/accept\.js$/,
    replaced: /return \{\n\s+accept,/g,
    by: `return {
        async accept(arrival) { void accept(arrival).catch(() => undefined); return 'recorded' },`,
    shownBy: ['kill', 'cut', 'unreachable', 'crashDatabase'],
    violates: LOST_EVENT,
  },
  /** Commits do not wait for the disk, because the server's default is used. */
  'asynchronous commit': {
    files: /^sql\/durable\.js$/,
    replaced: /set_config\('synchronous_commit'/g,
    by: `set_config('hookonce.broken'`,
    shownBy: ['crashDatabase', 'freeze'],
    violates: LOST_COMMIT,
  },
  /** Commits wait for the disk of the primary, and not for its synchronous standby. */
  'commits without the standby': {
    files: /^sql\/durable\.js$/,
    replaced: /'synchronous_commit', 'on'/g,
    by: `'synchronous_commit', 'local'`,
    shownBy: ['failOver'],
    violates: LOST_COMMIT,
    standby: 'synchronous',
  },
} as const satisfies Record<string, Break>

export type BreakName = keyof typeof BREAKS

/** A run that can show the break. */
export function runFor(name: BreakName): { only: readonly FaultName[]; standby?: Standby } {
  const { shownBy, standby }: Break = BREAKS[name]
  return { only: shownBy, ...(standby ? { standby } : {}) }
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Copies the build and breaks it. Returns its folder. */
export function brokenBuild(name: BreakName): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-broken-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const dist = join(folder, 'dist')
  cpSync(join(ROOT, 'dist'), dist, { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const { files, replaced, by } = BREAKS[name]
  const broken = readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .filter((file) => files.test(file))
    .filter((file) => {
      const before = readFileSync(join(dist, file), 'utf8')
      const after = before.replaceAll(replaced, by)
      writeFileSync(join(dist, file), after)
      return after !== before
    })
  if (broken.length === 0) throw new Error(`"${name}" breaks nothing in this build any more`)
  return dist
}
