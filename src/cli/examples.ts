/** A command to type, and its effect. */
export type Example = readonly [line: string, meaning: string]

/** Examples for the help text of each command. */
export const examples: Readonly<Record<string, readonly Example[]>> = {
  dev: [
    ['hookonce dev', 'starts with an embedded PostgreSQL and prints a command to try'],
    ['hookonce dev --forward-to http://localhost:3000/webhooks', 'sends each event to your app'],
  ],
  serve: [
    ['hookonce serve --config hookonce.config.json --check', 'checks the configuration only'],
    ['hookonce serve --workers 4', 'runs four processes behind one port'],
  ],
  'config-schema': [['hookonce config-schema > hookonce.schema.json', 'saves the schema for an editor']],
  ledgers: [
    ['HOOKONCE_LEDGERS=8 hookonce ledgers', 'lists the ledgers and their tenants'],
    [
      "HOOKONCE_LEDGERS=8 hookonce ledgers move acme hookonce_3 --why 'EU data'",
      'moves a tenant while others work',
    ],
  ],
  migrate: [['DATABASE_URL=postgres://owner@db/app hookonce migrate', 'creates or updates the tables']],
  doctor: [
    ['hookonce doctor', 'checks this machine, the configuration and the database'],
    ['hookonce doctor --pooler --json', 'prints every check as JSON, for a database behind PgBouncer'],
  ],
  status: [['hookonce status', 'shows the state of the ledger on one screen']],
  stats: [['hookonce stats --since 1h --source stripe', 'counts the last hour of one source']],
  alerts: [
    ['hookonce alerts', 'lists open alerts'],
    ['hookonce alerts acknowledge 3f2a --why "rolling back" --mute 2h', 'records that you are handling it'],
  ],
  events: [
    ['hookonce events --state failed --since 2h', 'lists the events that failed in the last two hours'],
    ['hookonce events --source stripe --type "invoice.*"', 'lists invoices of one source'],
  ],
  show: [
    ['hookonce show 9c1d2e', 'shows everything about one event, by the beginning of its id'],
    [
      'hookonce show evt_1 --as-test --hooks ../src/hooks.ts > test/evt_1.test.ts',
      'saves a test that delivers it again',
    ],
  ],
  failures: [['hookonce failures --since 24h', 'groups the failures of a day by their error']],
  replay: [
    ['hookonce replay 9c1d2e --dry-run', 'lists the jobs that would run again'],
    ['hookonce replay --failed --source stripe --since 2h', 'processes recent failures again'],
    [
      'hookonce replay --failed --error "no such customer" --why "customers are imported"',
      'processes the failures of one error again, and records why',
    ],
  ],
  reconcile: [
    ['hookonce reconcile stripe --since 24h --dry-run', 'reports events of a day that never arrived'],
  ],
  import: [
    ['hookonce import stripe keys.txt --dry-run', 'counts which of the keys are new'],
    ['hookonce import stripe events.csv --key id --why "switch"', 'records them as processed'],
  ],
  prune: [
    ['hookonce prune --dry-run', 'counts the data that is past its retention'],
    ['hookonce prune', 'deletes it now'],
  ],
  attention: [
    ['hookonce attention list', 'lists effects whose outcome is unknown'],
    ['hookonce attention confirm-done charge:42 --why "seen in the dashboard"', 'the waiting jobs continue'],
  ],
  outbox: [
    ['hookonce outbox --state failed', 'lists messages that failed for good'],
    ['hookonce outbox replay --failed --topic invoice.paid', 'publishes them again'],
  ],
  rejections: [['hookonce rejections', 'lists refused deliveries with the likely cause']],
  pause: [['hookonce pause stripe billing --why "database maintenance"', 'holds the jobs of a subscriber']],
  resume: [['hookonce resume stripe billing', 'lets them run again']],
  subscribers: [
    ['hookonce subscribers', 'lists the subscribers, and which of them no worker serves'],
    [
      'hookonce subscribers move stripe old-name --to new-name --why "renamed" --dry-run',
      'lists the jobs that would be moved',
    ],
  ],
  encryption: [['hookonce encryption key', 'prints a new key for HOOKONCE_ENCRYPTION_KEY']],
  audit: [['hookonce audit --limit 20', 'lists the latest decisions of operators']],
  token: [
    ['hookonce token create laptop --role viewer --bodies', 'makes a token for hookonce listen'],
    ['hookonce token revoke laptop --why "lost"', 'ends it'],
  ],
  sources: [
    ['hookonce sources payment', 'finds providers'],
    ['hookonce sources stripe', 'shows how a provider signs, and the variable of its secret'],
  ],
  verify: [
    ['hookonce verify --source stripe --headers h.txt --body b.json', 'explains why a delivery is refused'],
  ],
  trigger: [
    [
      'hookonce trigger demo --times 3 --concurrent',
      'sends three copies at once to hookonce dev, which records one event',
    ],
    ['hookonce trigger stripe invoice.paid --times 3', 'delivers one event three times'],
    ['hookonce trigger github push --url https://staging.example.com/in/github', 'sends to another gateway'],
  ],
  prove: [
    [
      'hookonce prove --url http://localhost:3000/webhooks --provider stripe --database env:DATABASE_URL',
      'tests a running receiver',
    ],
    [
      'hookonce prove --url http://localhost:3000/webhooks --provider stripe --database env:DATABASE_URL --downstream 4500 --start "npm start" --report report.html',
      'starts the receiver, and kills it at each call and commit',
    ],
  ],
  listen: [
    ['hookonce listen --from http://127.0.0.1:4401 --to 3000', 'sends the events of hookonce dev to an app'],
  ],
  mcp: [
    ['hookonce mcp', 'reads from the gateway of hookonce dev; an agent starts it'],
    [
      'hookonce mcp --from https://gateway.example.com --token env:HOOKONCE_TOKEN --allow-changes',
      'may also replay, decide, pause and resume',
    ],
  ],
  completion: [
    ['source <(hookonce completion bash)', 'completes commands and options in this shell'],
    ['hookonce completion zsh > ~/.zfunc/_hookonce', 'for zsh, in a folder of $fpath'],
    ['hookonce completion fish > ~/.config/fish/completions/hookonce.fish', 'for fish'],
  ],
}
