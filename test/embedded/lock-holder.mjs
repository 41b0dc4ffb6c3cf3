// Takes the lock many times. Each time it must be the only holder, which it checks by creating a
// file exclusively.
import { rmSync, writeFileSync } from 'node:fs'
import { takeLock } from '../../dist/ledger/embedded/start-lock.js'

const [lock, rounds, dieAtRound] = process.argv.slice(2)
for (let round = 0; round < Number(rounds); round++) {
  const release = await takeLock(lock, 30_000)
  writeFileSync(`${lock}.inside`, String(process.pid), { flag: 'wx' })
  rmSync(`${lock}.inside`)
  if (round === Number(dieAtRound)) process.kill(process.pid, 'SIGKILL')
  await release()
}
