import type { Command } from './command.ts'

/**
 * A line of the help text. The command is loaded when it runs, because most commands import a lot.
 */
export interface CommandEntry {
  readonly name: string
  readonly summary: string
  /** Prints until it is stopped, so it ends when its output is closed. */
  readonly isEndless?: true
  load(): Promise<Command>
}

/** In the order of the help text. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'dev',
    summary: 'start everything on this machine, with a command to try it',
    load: async () => (await import('./dev.ts')).dev,
  },
  {
    name: 'serve',
    summary: 'run the gateway of a configuration file',
    load: async () => (await import('./serve.ts')).serve,
  },
  {
    name: 'config-schema',
    summary: 'print the JSON Schema of a configuration file',
    load: async () => (await import('./config-schema.ts')).configSchemaCommand,
  },
  {
    name: 'migrate',
    summary: 'bring the schema of DATABASE_URL up to date',
    load: async () => (await import('./migrate.ts')).migrate,
  },
  {
    name: 'ledgers',
    summary: 'list several ledgers, add one, or move a tenant to another',
    load: async () => (await import('./ledgers.ts')).ledgers,
  },
  {
    name: 'doctor',
    summary: 'check this machine, the configuration and the database',
    load: async () => (await import('./doctor.ts')).doctor,
  },
  {
    name: 'status',
    summary: 'show waiting and failed jobs, and the running workers',
    load: async () => (await import('./status.ts')).status,
  },
  {
    name: 'stats',
    summary: 'count deliveries and attempts over the last hour, day or week',
    load: async () => (await import('./stats.ts')).stats,
  },
  {
    name: 'alerts',
    summary: 'list open alerts, acknowledge one, or test their channels',
    load: async () => (await import('./alerts.ts')).alerts,
  },
  {
    name: 'events',
    summary: 'list the latest events',
    isEndless: true,
    load: async () => (await import('./events.ts')).events,
  },
  {
    name: 'show',
    summary: 'show one event: deliveries, jobs, attempts, effects, messages, body',
    load: async () => (await import('./show.ts')).show,
  },
  {
    name: 'failures',
    summary: 'group failed jobs by their error',
    load: async () => (await import('./failures.ts')).failures,
  },
  {
    name: 'replay',
    summary: 'process one event again, or all failed jobs',
    load: async () => (await import('./replay.ts')).replay,
  },
  {
    name: 'reconcile',
    summary: 'record events that the provider lists and that never arrived',
    load: async () => (await import('./reconcile.ts')).reconcile,
  },
  {
    name: 'import',
    summary: 'record events that another system has processed',
    load: async () => (await import('./import.ts')).importCommand,
  },
  {
    name: 'prune',
    summary: 'delete data that is past its retention',
    load: async () => (await import('./prune.ts')).prune,
  },
  {
    name: 'attention',
    summary: 'decide on effects whose outcome is unknown',
    load: async () => (await import('./attention.ts')).attention,
  },
  {
    name: 'outbox',
    summary: 'list the messages of the outbox, show or publish one again',
    load: async () => (await import('./outbox.ts')).outbox,
  },
  {
    name: 'rejections',
    summary: 'list refused deliveries, and why',
    load: async () => (await import('./rejections.ts')).rejections,
  },
  {
    name: 'pause',
    summary: 'hold the jobs of a source or subscriber, or list all pauses',
    load: async () => (await import('./pause.ts')).pause,
  },
  {
    name: 'resume',
    summary: 'resume a source or subscriber',
    load: async () => (await import('./pause.ts')).resume,
  },
  {
    name: 'subscribers',
    summary: 'list the subscribers, move or discard jobs that no worker runs',
    load: async () => (await import('./subscribers.ts')).subscribers,
  },
  {
    name: 'encryption',
    summary: 'list, rotate or forget the keys that encrypt payloads',
    load: async () => (await import('./encryption.ts')).encryption,
  },
  {
    name: 'audit',
    summary: 'list the decisions of operators, with their reasons',
    load: async () => (await import('./audit.ts')).audit,
  },
  {
    name: 'token',
    summary: 'create, list and revoke tokens of the admin API',
    load: async () => (await import('./token.ts')).token,
  },
  {
    name: 'sources',
    summary: 'list the providers, or show the page of one',
    load: async () => (await import('./sources.ts')).sources,
  },
  {
    name: 'verify',
    summary: 'check a stored delivery, and explain a refusal',
    load: async () => (await import('./verify.ts')).verify,
  },
  {
    name: 'trigger',
    summary: 'send signed sample events of a provider to any URL',
    load: async () => (await import('./trigger.ts')).trigger,
  },
  {
    name: 'prove',
    summary: 'try to break a webhook receiver, and report its faults',
    load: async () => (await import('./prove.ts')).prove,
  },
  {
    name: 'listen',
    summary: 'send the events of a gateway to an app on this machine',
    isEndless: true,
    load: async () => (await import('./listen.ts')).listen,
  },
  {
    name: 'mcp',
    summary: 'serve the events of a gateway to an agent, over MCP',
    load: async () => (await import('./mcp.ts')).mcp,
  },
  {
    name: 'completion',
    summary: 'print a script that completes commands in bash, zsh or fish',
    load: async () => (await import('./completion.ts')).completion(commands),
  },
]
