import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { install, listens } from './brokers.ts'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

const SERVER = { name: 'prometheus', path: '/usr/bin/prometheus' }
const PROMTOOL = '/usr/bin/promtool'

/** Runs promtool of Debian's package `prometheus`. Throws with its output if it finds a fault. */
export function promtool(args: readonly string[], input?: string): string {
  install(SERVER)
  try {
    return execFileSync(PROMTOOL, args, { encoding: 'utf8', input, stdio: 'pipe' })
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    throw new Error(`promtool ${args.join(' ')}: ${stdout}${stderr}`)
  }
}

export interface RunningPrometheus {
  /** The `data` in an answer of its API. */
  get(path: string, parameters: Record<string, string>): Promise<unknown>
}

/** A real Prometheus that scrapes one address every second. */
export async function prometheusServer(target: string, rules: string): Promise<RunningPrometheus> {
  install(SERVER)
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-prometheus-'))
  mkdirSync(join(dir, 'data'))
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'hookonce', static_configs: [{ targets: [target] }] }],
  }
  // JSON is valid YAML.
  writeFileSync(join(dir, 'prometheus.yml'), JSON.stringify(config))
  const child = spawn(
    SERVER.path,
    [
      `--config.file=${join(dir, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
    ],
    { stdio: 'ignore' },
  )
  const gone = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await gone
    rmSync(dir, { recursive: true, force: true })
  })
  await until('prometheus listens', () => listens(port))
  return {
    async get(path, parameters) {
      const query = new URLSearchParams(parameters)
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}?${query}`)
      const { status, data, error } = (await response.json()) as Record<string, unknown>
      if (status !== 'success') throw new Error(`${path} ${query}: ${String(error)}`)
      return data
    },
  }
}
