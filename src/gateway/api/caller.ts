import { HookonceError } from '../../model/errors.ts'
import type { DecisionReason } from '../../operate/audit.ts'
import { type Role, roles } from '../../operate/tokens.ts'

/** The caller and its rights. */
export interface Caller {
  /**
   * The id is never reused: a new token gets a new id, even with the same name. An
   * `Idempotency-Key` belongs to this id.
   */
  readonly id: string
  /** The actor for the audit: the name of the token. */
  readonly name: string
  readonly role: Role
  /** The only tenant that the caller may see. Undefined: all tenants. */
  readonly tenant: string | undefined
  /** Whether the caller may read bodies, headers and payloads. */
  readonly bodies: boolean
  readonly address: string
}

/** The access rule of a route. */
export interface RouteAccess {
  /** The least role that may call the route. `anyone`: no token is needed. */
  readonly role: Role | 'anyone'
  /**
   * `ledger`: the route is about all tenants, so a token that is bound to one tenant may not call
   * it.
   */
  readonly scope: 'tenant' | 'ledger'
}

/** Fails closed: throws unless the rights of the caller are enough. */
export function requireAccess({ role, scope }: RouteAccess, caller: Caller): void {
  if (role === 'anyone') return
  if (roles.indexOf(caller.role) < roles.indexOf(role))
    throw new HookonceError(
      'FORBIDDEN',
      `this needs the role ${role}, but "${caller.name}" has the role ${caller.role}`,
    )
  if (scope === 'ledger' && caller.tenant !== undefined)
    throw new HookonceError(
      'FORBIDDEN',
      `this covers all tenants, but "${caller.name}" is limited to the tenant "${caller.tenant}"`,
    )
}

/** The tenant to which a list is limited: the caller's own, or the requested one. */
export function tenantFor({ tenant, name }: Caller, asked: string | undefined): string | undefined {
  if (tenant === undefined || asked === undefined || asked === tenant) return tenant ?? asked
  throw new HookonceError('FORBIDDEN', `"${name}" is limited to the tenant "${tenant}"`)
}

/**
 * Whether the caller may see an object of this tenant. If not, the object does not exist for the
 * caller.
 */
export function isVisible({ tenant }: Caller, owner: string): boolean {
  return tenant === undefined || tenant === owner
}

/** The audit entry: who decides, why, and from which address. */
export function reasonOf({ name, address }: Caller, why: string): DecisionReason {
  return { by: name, why, address }
}

export function requireBodies({ bodies, name }: Caller): void {
  if (!bodies)
    throw new HookonceError('FORBIDDEN', `"${name}" may not read bodies: make a token with \`bodies\``)
}
