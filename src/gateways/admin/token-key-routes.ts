/** The keys that sign the tokens of calls, on the ops listener. No answer has a secret: nobody needs to see one. */
import { z } from 'zod';
import { type AdminReply, type AdminRoute, changeRoute, orFileError, readRoute } from '../ops/admin-route.ts';
import type { TokenKeyRotation, StoredTokenKey } from '../../storage/keys/token-key-file.ts';
import type { LiveTokenKeys } from '../../storage/keys/live-token-keys.ts';

export interface TokenKeyJson {
  readonly kid: string;
  /** Unix seconds; null: not recorded when it was made. */
  readonly created_at: number | null;
  /** The others still verify, but no longer sign. */
  readonly signs: boolean;
}

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
      { action: 'token-key.rotate', answered: { kid: 'keys.0.kid', dropped: 'dropped' } },
      () => orFileError(() => rotate(live)),
    ),
    changeRoute(
      '/v1/token-keys/retire',
      retireBody,
      { action: 'token-key.retire', asked: ['kid'] },
      ({ kid }) => orFileError(() => retire(live, kid)),
    ),
  ];
}

/** `keys`: the one that signs first. */
export function encodeTokenKeys(keys: readonly StoredTokenKey[]): TokenKeyJson[] {
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
  return { status: left.error === 'last' ? 409 : 404, body: { error: retireRefusals[left.error](kid) } };
}
