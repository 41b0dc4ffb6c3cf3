import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { validate } from 'dockerfile-utils'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments, parse as parseYaml } from 'yaml'
import { z } from 'zod'
import { installDebian } from '../../scripts/debian.mjs'
import { readConfig } from '../../src/gateway/config/config.ts'
import { DRAIN_MS } from '../../src/hookonce.ts'
import { installPackage } from '../support/install-package.ts'

/*
 * The files of deploy/ and the image, checked by tools that know their formats. No test starts
 * them: that needs a cluster, a container engine or systemd as process 1.
 */

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (name: string): string => readFileSync(join(root, name), 'utf8')
const scratch = mkdtempSync(join(tmpdir(), 'hookonce-deploy-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Provides the shapes of Kubernetes' objects, which only these tests need. */
const KUBERNETES = join(root, 'test/kubernetes')

describe('Kubernetes', () => {
  beforeAll(() => installPackage(KUBERNETES), 120_000)
  const folder = 'deploy/kubernetes'
  const files = readdirSync(join(root, folder)).filter((file) => file.endsWith('.yaml'))
  const manifests = files
    .filter((file) => !['kustomization.yaml', 'hookonce.config.yaml'].includes(file))
    .flatMap((file) => documentsOf(`${folder}/${file}`).map((manifest) => ({ file, manifest })))

  test.each(manifests.map(({ file, manifest }) => [file, manifest.kind, manifest]))(
    '%s: the %s has the shape that the API server expects',
    async (_file, _kind, manifest) => {
      const Kind = await modelOf(manifest)
      expect(() => new Kind(manifest).validate()).not.toThrow()
    },
  )

  test('a wrong shape is detected', async () => {
    const wrong = { apiVersion: 'v1', kind: 'Service', spec: { ports: [{ port: 'eighty' }] } }
    const Service = await modelOf(wrong)
    expect(() => new Service(wrong).validate()).toThrow()
  })

  test('hookonce accepts the configuration', async () => {
    const secret = `whsec_${Buffer.alloc(32, 'x').toString('base64')}`
    const env = { STRIPE_WEBHOOK_SECRET: 'whsec_x', FORWARD_SECRET: secret }
    const config = await readConfig(join(root, folder, 'hookonce.config.yaml'), env)
    expect(config.routes.map(({ source, destination }) => [source, destination])).toEqual([['stripe', 'app']])
  })

  test('kustomize is given every file', () => {
    const [kustomization] = documentsOf(`${folder}/kustomization.yaml`)
    const listed = [
      ...(kustomization?.resources ?? []),
      ...(kustomization?.configMapGenerator ?? []).flatMap(({ files }) => files),
    ]
    expect([...listed, 'kustomization.yaml'].sort()).toEqual(files.sort())
  })

  const deployments = manifests.map(({ manifest }) => manifest).filter(({ kind }) => kind === 'Deployment')

  test.each(deployments.map((deployment) => [deployment.metadata.name, deployment]))(
    '%s: has probes, is not killed before it has drained, and may do nothing else',
    (_name, { spec }) => {
      const pod = spec.template.spec
      const [container] = pod.containers
      expect(container).toMatchObject({
        startupProbe: { httpGet: { path: '/healthz' } },
        livenessProbe: { httpGet: { path: '/healthz' } },
        readinessProbe: { httpGet: { path: '/readyz' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      })
      const pauseSeconds = Number(container?.lifecycle?.preStop.exec.command[1] ?? 0)
      expect(pod.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(
        pauseSeconds * 1_000 + DRAIN_MS + 2_000,
      )
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 })
      expect(spec.selector.matchLabels).toEqual(spec.template.metadata.labels)
    },
  )

  test('each Deployment has a disruption budget and an autoscaler', () => {
    const names = deployments.map(({ metadata }) => metadata.name)
    const ofKind = (kind: string) =>
      manifests.map(({ manifest }) => manifest).filter((one) => one.kind === kind)
    expect(ofKind('PodDisruptionBudget').map(({ metadata }) => metadata.name)).toEqual(names)
    expect(ofKind('HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef.name)).toEqual(names)
  })

  test('workers scale by a metric that hookonce exports', () => {
    const [metric] = /hookonce_\w+/.exec(read(`${folder}/worker.yaml`).split('External')[1] ?? '') ?? []
    expect(read('docs/reference/metrics.md')).toContain(`\`${metric}\``)
  })
})

type Model = new (data: object) => { validate(): void }

async function modelOf({ apiVersion, kind }: { apiVersion: string; kind: string }): Promise<Model> {
  const file = join(KUBERNETES, 'node_modules/kubernetes-models', apiVersion, `${kind}.js`)
  const models = await import(pathToFileURL(file).href)
  return models[kind] as Model
}

/** The parts of a manifest that the tests read. The API's own schemas check the rest. */
interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly resources?: readonly string[]
  readonly configMapGenerator?: readonly { readonly files: readonly string[] }[]
  readonly spec: {
    readonly scaleTargetRef: { readonly name: string }
    readonly selector: { readonly matchLabels: object }
    readonly template: {
      readonly metadata: { readonly labels: object }
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly securityContext: object
        readonly containers: readonly {
          readonly lifecycle?: {
            readonly preStop: { readonly exec: { readonly command: readonly string[] } }
          }
        }[]
      }
    }
  }
}

function documentsOf(file: string): Manifest[] {
  return parseAllDocuments(read(file)).map((document) => {
    expect(document.errors, file).toEqual([])
    return document.toJS() as Manifest
  })
}

describe('systemd', () => {
  const unit = 'deploy/systemd/hookonce.service'

  /** The unit, with a program that exists on this machine. */
  function installed(): string {
    const path = join(scratch, 'hookonce.service')
    writeFileSync(path, read(unit).replace('/usr/local/bin/hookonce', process.execPath))
    return path
  }

  test('systemd accepts the unit without a warning', () => {
    const { status, stderr } = tool('systemd-analyze', ['verify', installed()], 'systemd')
    expect(stderr).toBe('')
    expect(status).toBe(0)
  })

  test('the unit is confined: systemd rates its exposure as OK', () => {
    // The threshold is ten times the figure that systemd prints.
    const args = ['security', '--offline=true', '--no-pager', '--threshold=20', installed()]
    const { status, stdout } = tool('systemd-analyze', args, 'systemd')
    expect(stdout).toContain('Overall exposure level')
    expect(status).toBe(0)
  })

  test('the service is not killed before it has drained', () => {
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(read(unit)) ?? []
    expect(Number(seconds) * 1_000).toBeGreaterThan(DRAIN_MS + 2_000)
  })
})

test('the page on Citus starts the cluster as the head of its compose file does, with every service', () => {
  const text = read('deploy/citus/compose.yaml')
  const [start = ''] = /docker compose up.*/.exec(text) ?? []
  expect(read('docs/scaling.md').split(/ {2,}|\n/)).toContain(start)
  const file = z.object({ services: z.record(z.string(), z.object({ profiles: z.unknown() }).partial()) })
  const { services } = file.parse(parseYaml(text, { merge: true }))
  // `up` does not start services with a profile: each needs a command of its own.
  const apart = Object.keys(services).filter((name) => services[name]?.profiles !== undefined)
  expect(apart).toEqual(['cluster'])
  for (const name of apart) expect(start).toContain(`docker compose run --rm ${name}`)
})

test('docker-compose reads compose.yaml', { timeout: 300_000 }, () => {
  const { status, stdout, stderr } = tool(
    'docker-compose',
    ['-f', join(root, 'compose.yaml'), 'config'],
    'docker-compose',
  )
  expect(stderr).toBe('')
  expect(status).toBe(0)
  expect(stdout).toContain('condition: service_healthy')
})

test('the Dockerfile has no fault that a validator knows', () => {
  expect(validate(read('Dockerfile')).map(({ message }) => message)).toEqual([])
  expect(validate('FROM\nRUN').length).toBeGreaterThan(0)
})

/** Runs a program of Debian. Installs it if it is missing. */
function tool(program: string, args: readonly string[], debianPackage: string) {
  if (!existsSync(`/usr/bin/${program}`))
    installDebian(debianPackage, `the tests need ${program}: install ${debianPackage}`)
  return spawnSync(program, args, { encoding: 'utf8', env: { ...process.env, POSTGRES_PASSWORD: 'secret' } })
}
