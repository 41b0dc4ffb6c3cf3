import { createToken, listTokens, type Role, revokeToken, roles, type Token } from '../operate/tokens.ts'
import { actorOf } from './actor.ts'
import { parseChoice, unknownVerb } from './choices.ts'
import { type Command, ledgerOptions, parse, parseDuration, usageError } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce token create <name> --role viewer|operator|admin [--tenant NAME] [--bodies | --no-bodies] [--expires 90d]
                      [--why TEXT] [--by NAME] [--json] [--dir DIR]
hookonce token list [--revoked] [--json] [--dir DIR]
hookonce token revoke <name or id> [--why TEXT] [--by NAME] [--json] [--dir DIR]

Tokens of the admin API. Without an argument it lists them. create prints the token, once: only a hash of it is stored.

  viewer     reads everything except bodies, headers and payloads, which need --bodies
  operator   also replays, decides, pauses and resumes
  admin      also makes and revokes tokens

--tenant binds the token to one tenant: it sees nothing of the others. --no-bodies keeps bodies from any role.`

export const token: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 2 }, args, {
      ...ledgerOptions,
      role: { type: 'string' },
      tenant: { type: 'string' },
      bodies: { type: 'boolean', default: false },
      'no-bodies': { type: 'boolean', default: false },
      expires: { type: 'string' },
      revoked: { type: 'boolean', default: false },
      why: { type: 'string', default: 'by the command line' },
      by: { type: 'string' },
    })
    const [word, name] = positionals
    const reason = { by: actorOf(values.by), why: values.why }
    if (word === undefined || word === 'list') {
      if (name !== undefined) throw usageError({ usage }, `unexpected argument "${name}"`)
      const tokens = await withLedger(values.dir, (ledger) => listTokens(ledger, values))
      return values.json ? printJson(tokens) : print(asText(tokens))
    }
    if (word !== 'create' && word !== 'revoke')
      throw unknownVerb({ usage }, word, ['create', 'list', 'revoke'])
    if (name === undefined) throw usageError({ usage }, 'give the name of the token')
    if (word === 'revoke') {
      const revoked = await withLedger(values.dir, (ledger) => revokeToken(ledger, name, reason))
      return values.json ? printJson(revoked) : print(`${safe(revoked.name)} is revoked`)
    }
    if (values.bodies && values['no-bodies'])
      throw usageError({ usage }, '--bodies and --no-bodies exclude each other')
    const request = {
      name,
      role: roleOf(values.role),
      tenant: values.tenant,
      bodies: values.bodies ? true : values['no-bodies'] ? false : undefined,
      expiresAt:
        values.expires === undefined
          ? undefined
          : new Date(Date.now() + parseDuration({ usage }, values.expires)),
    }
    const created = await withLedger(values.dir, (ledger) => createToken(ledger, request, reason))
    if (values.json) return printJson(created)
    // Prints only the token on standard output, so that it can be piped into a file.
    process.stderr.write(
      `${safe(created.name)} has the role ${created.role}. Keep its token, it is not shown again:\n`,
    )
    print(created.token)
  },
}

function roleOf(text: string | undefined): Role {
  if (text === undefined) throw usageError({ usage }, `give --role as one of ${roles.join(', ')}`)
  return parseChoice({ usage }, { option: '--role', text, words: roles })
}

function asText(tokens: readonly Token[]): string {
  if (tokens.length === 0) return 'there are no tokens: `hookonce token create` makes one'
  const rows = tokens.map((one) => [
    safe(one.name),
    one.role,
    one.tenant === null ? 'all' : safe(one.tenant),
    one.bodies ? 'yes' : 'no',
    clock(one.createdAt),
    one.usedAt ? clock(one.usedAt) : 'never',
    one.revokedAt ? `revoked ${clock(one.revokedAt)}` : one.expiresAt ? clock(one.expiresAt) : 'never',
  ])
  return table(['NAME', 'ROLE', 'TENANT', 'BODIES', 'MADE', 'USED', 'ENDS'], rows)
}
