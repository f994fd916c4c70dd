/**
 * Secrets of the server on the ops listener: the keys that sign call tokens, which are never returned, and operators' named
 * tokens, which are returned only when they are created.
 */
import { z } from 'zod';
import { type AdminAnswer, type AdminRoute, changeRoute, readRoute, refuse } from '../ops/admin-route.ts';
import type { TokenKeyRotation, StoredTokenKey, LiveTokenKeys } from '../../storage/keys/token-key-file.ts';
import { opsTokensMax } from '../../model/limits.ts';
import { operatorNameForm, opsRoles, type Operator } from '../../model/audit.ts';
import type { Operators } from '../ops/operators.ts';
import type { OpsTokenRefusal, StoredOpsToken } from '../../storage/keys/ops-token-file.ts';

type Keys = Pick<LiveTokenKeys, 'stored' | 'rotate' | 'retire'>;

const rotateBody = z.strictObject({}).optional();
const retireBody = z.strictObject({ kid: z.string().min(1) });

export function tokenKeyRoutes(live: Keys): AdminRoute[] {
  return [
    readRoute('/v1/token-keys', z.strictObject({}), async () => encodeTokenKeys(live.stored)),
    changeRoute('/v1/token-keys/rotate', rotateBody, async () => encodeRotation(await live.rotate()), {
      answered: { kid: 'keys.0.kid', dropped: 'dropped' },
    }),
    changeRoute('/v1/token-keys/retire', retireBody, ({ kid }) => retire(live, kid)),
  ];
}

export type TokenKeyListing = ReturnType<typeof encodeTokenKeys>;
export type TokenKeyJson = TokenKeyListing['keys'][number];

/** `keys`: the signing key first; the others still verify. `created_at`: Unix seconds; null: not recorded. */
function encodeTokenKeys(stored: readonly StoredTokenKey[]) {
  return { keys: stored.map(({ kid, createdAtS }, i) => ({ kid, created_at: createdAtS, signs: i === 0 })) };
}

export type TokenKeyRotationJson = ReturnType<typeof encodeRotation>;

function encodeRotation({ keys, dropped }: TokenKeyRotation) {
  return { ...encodeTokenKeys(keys), dropped: dropped.map(({ kid }) => kid) };
}

const retireRefusals = {
  unknown: (kid: string) => `no token key ${JSON.stringify(kid)}`,
  last: (kid: string) => `${kid} is the only token key: rotate first`,
} as const;

async function retire(live: Keys, kid: string): Promise<AdminAnswer> {
  const left = await live.retire(kid);
  return left.ok
    ? encodeTokenKeys(left.value)
    : refuse(left.error === 'last' ? 409 : 404, retireRefusals[left.error](kid));
}

export interface FreshOpsTokenJson extends Operator {
  readonly token: string;
}

type Live = Pick<Operators, 'stored' | 'create' | 'revoke'>;

const createBody = z.strictObject({ name: z.string(), role: z.enum(opsRoles) });
const revokeBody = z.strictObject({ name: z.string() });

export function opsTokenRoutes(live: Live): AdminRoute[] {
  return [
    readRoute('/v1/ops-tokens', z.strictObject({}), async () => encodeOpsTokens(live.stored)),
    changeRoute('/v1/ops-tokens/create', createBody, (operator) => create(live, operator)),
    changeRoute('/v1/ops-tokens/revoke', revokeBody, ({ name }) => revoke(live, name)),
  ];
}

export type OpsTokenListing = ReturnType<typeof encodeOpsTokens>;

/** Times in Unix seconds; null: not recorded, or never used. */
function encodeOpsTokens(stored: readonly StoredOpsToken[]) {
  const tokens = stored.map(({ name, role, createdAtS, lastUsedAtS }) => {
    return { name, role, created_at: createdAtS, last_used_at: lastUsedAtS };
  });
  return { tokens };
}

const createRefusals: Readonly<Record<OpsTokenRefusal, (name: string) => string>> = {
  name: (name) =>
    `${JSON.stringify(name)} is not a valid token name: ${operatorNameForm}, and not a reserved name`,
  exists: (name) => `the token ${JSON.stringify(name)} exists already: revoke it first`,
  full: () => `there are ${opsTokensMax} tokens already: revoke one first`,
};

const createStatuses = { name: 400, exists: 409, full: 409 } as const;

async function create(live: Live, operator: Operator): Promise<AdminAnswer> {
  const created = await live.create(operator);
  if (!created.ok) return refuse(createStatuses[created.error], createRefusals[created.error](operator.name));
  return { ...operator, token: created.value.token } satisfies FreshOpsTokenJson;
}

async function revoke(live: Live, name: string): Promise<AdminAnswer> {
  if (await live.revoke(name)) return { revoked: name };
  return refuse(404, `no token ${JSON.stringify(name)}`);
}
