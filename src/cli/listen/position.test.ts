import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openPosition } from './position.ts'

function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-listen-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 12, 0, second))
const event = (id: string, second: number) => ({ id, receivedAt: at(second).toISOString() })

test('the seconds before the last event are listed again, without the known events', () => {
  const dir = directory()
  const position = openPosition(dir, 'one')
  expect([position.isSet(), position.isResumed]).toEqual([false, false])
  position.note(event('a', 0))
  position.note(event('b', 20))
  // This event was committed late, so it appears after "b".
  position.note(event('c', 15))
  position.save()
  const again = openPosition(dir, 'one')
  expect([again.isSet(), again.isResumed]).toEqual([true, true])
  expect(again.listFrom()).toEqual(at(10))
  expect(['a', 'b', 'c', 'd'].filter(again.knows)).toEqual(['b', 'c'])
  // An earlier time does not move the position back.
  again.advance(at(5))
  expect(again.listFrom()).toEqual(at(10))
  expect(openPosition(dir, 'another').isSet()).toBe(false)
})

test('the list begins at a requested time, and known events are sent again', () => {
  const position = openPosition(directory(), 'one')
  position.note(event('a', 30))
  position.startAt(at(0))
  expect(position.listFrom()).toEqual(at(0))
  expect(position.knows('a')).toBe(false)
})

test('a damaged file is explained, and a link is replaced, not followed', () => {
  const dir = directory()
  const { file } = openPosition(dir, 'one')
  writeFileSync(file, '{"time":"soon"}')
  expect(() => openPosition(dir, 'one')).toThrow(/is damaged; remove it/)
  rmSync(file)
  const position = openPosition(dir, 'one')
  const victim = join(dir, 'victim')
  writeFileSync(victim, 'as it was')
  symlinkSync(victim, file)
  position.note(event('a', 0))
  position.save()
  expect(readFileSync(victim, 'utf8')).toBe('as it was')
  expect(openPosition(dir, 'one').knows('a')).toBe(true)
  expect(readdirSync(dir).filter((name) => name.startsWith('listen-'))).toHaveLength(1)
})
