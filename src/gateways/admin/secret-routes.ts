/**
 * Secrets of the server on the ops listener: the keys that sign the tokens of calls, which no answer has, and the named tokens
 * of operators, each in one answer only: that of its creation.
 */
import { z } from 'zod';
import {
  type AdminReply,
  type AdminRoute,
  changeRoute,
  orFileError,
  readRoute,
  refuse,
} from '../ops/admin-route.ts';
import type { TokenKeyRotation, StoredTokenKey, LiveTokenKeys } from '../../storage/keys/token-key-file.ts';
import { opsTokensMax } from '../../model/limits.ts';
import { operatorNameForm, opsRoles, type Operator } from '../../model/audit.ts';
import type { Operators } from '../ops/operators.ts';
import type { OpsTokenRefusal, StoredOpsToken } from '../../storage/keys/ops-token-file.ts';

export interface TokenKeyListing {
  readonly keys: readonly TokenKeyJson[];
}

export interface TokenKeyRotationJson extends TokenKeyListing {
  /** Kids of the keys that were removed. */
  readonly dropped: readonly string[];
}

type Keys = Pick<LiveTokenKeys, 'stored' | 'rotate' | 'retire'>;

const rotateBody = z.strictObject({}).optional();
const retireBody = z.strictObject({ kid: z.string().min(1) });

export function tokenKeyRoutes(live: Keys): AdminRoute[] {
  return [
    readRoute('/v1/token-keys', z.strictObject({}), () => list(live)),
    changeRoute(
      '/v1/token-keys/rotate',
      rotateBody,
      { answered: { kid: 'keys.0.kid', dropped: 'dropped' } },
      () => orFileError(() => rotate(live)),
    ),
    changeRoute('/v1/token-keys/retire', retireBody, { asked: ['kid'] }, ({ kid }) =>
      orFileError(() => retire(live, kid)),
    ),
  ];
}

export type TokenKeyJson = ReturnType<typeof encodeTokenKeys>[number];

/**
 * `keys`: the one that signs first; the others still verify. `created_at`: Unix seconds; null: not recorded when it was made.
 */
function encodeTokenKeys(keys: readonly StoredTokenKey[]) {
  return keys.map(({ kid, createdAtS }, i) => ({ kid, created_at: createdAtS, signs: i === 0 }));
}

function encodeRotation({ keys, dropped }: TokenKeyRotation): TokenKeyRotationJson {
  return { keys: encodeTokenKeys(keys), dropped: dropped.map(({ kid }) => kid) };
}

/** The reason why a key was not retired, in words. */
const retireRefusals = {
  unknown: (kid: string) => `no token key ${JSON.stringify(kid)}`,
  last: (kid: string) => `${kid} is the only token key: rotate first`,
} as const;

async function list({ stored }: Keys): Promise<AdminReply> {
  return { status: 200, body: { keys: encodeTokenKeys(stored) } satisfies TokenKeyListing };
}

async function rotate(live: Keys): Promise<AdminReply> {
  return { status: 200, body: encodeRotation(await live.rotate()) };
}

async function retire(live: Keys, kid: string): Promise<AdminReply> {
  const left = await live.retire(kid);
  if (left.ok) return { status: 200, body: { keys: encodeTokenKeys(left.value) } satisfies TokenKeyListing };
  return refuse(left.error === 'last' ? 409 : 404, retireRefusals[left.error](kid));
}

export interface OpsTokenListing {
  readonly tokens: ReturnType<typeof encodeOpsTokens>;
}

export interface FreshOpsTokenJson extends Operator {
  /** In no other answer. */
  readonly token: string;
}

type Live = Pick<Operators, 'stored' | 'create' | 'revoke'>;

const createBody = z.strictObject({ name: z.string(), role: z.enum(opsRoles) });
const revokeBody = z.strictObject({ name: z.string() });

export function opsTokenRoutes(live: Live): AdminRoute[] {
  return [
    readRoute('/v1/ops-tokens', z.strictObject({}), async () => {
      return { status: 200, body: { tokens: encodeOpsTokens(live.stored) } satisfies OpsTokenListing };
    }),
    changeRoute('/v1/ops-tokens/create', createBody, { asked: ['name', 'role'] }, (operator) =>
      orFileError(() => create(live, operator)),
    ),
    changeRoute('/v1/ops-tokens/revoke', revokeBody, { asked: ['name'] }, ({ name }) =>
      orFileError(() => revoke(live, name)),
    ),
  ];
}

/** Unix seconds; null: not recorded when it was made, or never used. */
function encodeOpsTokens(tokens: readonly StoredOpsToken[]) {
  return tokens.map(({ name, role, createdAtS, lastUsedAtS }) => {
    return { name, role, created_at: createdAtS, last_used_at: lastUsedAtS };
  });
}

/** The reason why a token was not made, in words. */
const createRefusals: Readonly<Record<OpsTokenRefusal, (name: string) => string>> = {
  name: (name) => `${JSON.stringify(name)} is no name for a token: ${operatorNameForm}, and no reserved one`,
  taken: (name) => `there is a token ${JSON.stringify(name)} already: revoke it first`,
  full: () => `there are ${opsTokensMax} tokens already: revoke one first`,
};

function unknownToken(name: string): string {
  return `no token ${JSON.stringify(name)}`;
}

const createStatuses = { name: 400, taken: 409, full: 409 } as const;

async function create(live: Live, operator: Operator): Promise<AdminReply> {
  const created = await live.create(operator);
  if (!created.ok) return refuse(createStatuses[created.error], createRefusals[created.error](operator.name));
  return { status: 200, body: { ...operator, token: created.value.token } satisfies FreshOpsTokenJson };
}

async function revoke(live: Live, name: string): Promise<AdminReply> {
  if (await live.revoke(name)) return { status: 200, body: { revoked: name } };
  return refuse(404, unknownToken(name));
}
