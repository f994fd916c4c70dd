/** The named tokens of operators on the ops listener. A token is in one answer only: that of its creation. */
import { z } from 'zod';
import { opsTokensMax } from '../../model/limits.ts';
import { operatorNameForm, opsRoles, type Operator } from '../../model/audit.ts';
import { type AdminReply, type AdminRoute, changeRoute, orFileError, readRoute } from '../ops/admin-route.ts';
import type { Operators } from '../ops/operators.ts';
import type { OpsTokenRefusal, StoredOpsToken } from '../../storage/keys/ops-token-file.ts';

export interface OpsTokenJson extends Operator {
  /** Unix seconds; null: not recorded when it was made. */
  readonly created_at: number | null;
  /** Unix seconds; null: never. */
  readonly last_used_at: number | null;
}

export interface OpsTokenListing {
  readonly tokens: readonly OpsTokenJson[];
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
    changeRoute(
      '/v1/ops-tokens/create',
      createBody,
      { action: 'ops-token.create', asked: ['name', 'role'] },
      (operator) => orFileError(() => create(live, operator)),
    ),
    changeRoute(
      '/v1/ops-tokens/revoke',
      revokeBody,
      { action: 'ops-token.revoke', asked: ['name'] },
      ({ name }) => orFileError(() => revoke(live, name)),
    ),
  ];
}

export function encodeOpsTokens(tokens: readonly StoredOpsToken[]): OpsTokenJson[] {
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
  if (!created.ok)
    return {
      status: createStatuses[created.error],
      body: { error: createRefusals[created.error](operator.name) },
    };
  return { status: 200, body: { ...operator, token: created.value.token } satisfies FreshOpsTokenJson };
}

async function revoke(live: Live, name: string): Promise<AdminReply> {
  if (await live.revoke(name)) return { status: 200, body: { revoked: name } };
  return { status: 404, body: { error: unknownToken(name) } };
}
