import type { SignedIn } from '../../app/operations/api-sessions.ts';
import type { ReadTable } from '../../core/options/collections.ts';
import { isCallerName, type rightsTable } from './rights.ts';

/** What a provider says about a person. */
export type Claims = Readonly<Record<string, unknown>>;

/** The rights of each value of a claim. */
export interface RolesOfClaim {
  readonly claim: string;
  readonly values: Readonly<Record<string, ReadTable<typeof rightsTable>>>;
}

/** The person, with those values of the claim that give rights. @throws never: who cannot be named is nobody */
export function personOf(claims: Claims, roles: RolesOfClaim, nameClaim: string): SignedIn | undefined {
  const name = [claimOf(claims, nameClaim), claimOf(claims, 'sub')]
    .flatMap((one) => one ?? [])
    .find(isCallerName);
  if (name === undefined) return undefined;
  const told = new Set([claimOf(claims, roles.claim)].flat());
  return { name, grants: Object.keys(roles.values).filter((value) => told.has(value)) };
}

/** Whether these claims say who the person is and what it may do: some providers put a part of that into userinfo. */
export function saysAll(claims: Claims, { claim }: RolesOfClaim, nameClaim: string): boolean {
  return Object.hasOwn(claims, claim) && claimOf(claims, nameClaim) !== undefined;
}

/** The rights of the first value in the configuration that the person has: they are not mixed. */
export function rightsOf(
  grants: readonly string[],
  { values }: RolesOfClaim,
): ReadTable<typeof rightsTable> | undefined {
  return Object.entries(values).find(([value]) => grants.includes(value))?.[1];
}

/** An address that is not verified is what anybody has typed in. */
function claimOf(claims: Claims, claim: string): unknown {
  if (!Object.hasOwn(claims, claim)) return undefined;
  return claim === 'email' && claims['email_verified'] !== true ? undefined : claims[claim];
}
