/** What `reveille token-key …` does: asks the running server, or changes the file while none runs. Secrets are never shown. */
import { wallSeconds } from '../../lib/clock.ts';
import { tokenKeyFileOf } from '../../storage/keys/live-token-keys.ts';
import {
  encodeRotation,
  encodeTokenKeys,
  retireRefusals,
  type TokenKeyListing,
  type TokenKeyRotationJson,
} from '../../gateways/admin/token-key-routes.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { CommandError } from '../shell/command-error.ts';
import { reveilleCommand } from '../api/invocation.ts';
import { findOpsClient } from './ops-client.ts';
import { formatMoment } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { changeAtRest } from './resting-audit.ts';
import { showable } from '../shell/showable.ts';

type Context = Pick<CommandContext, 'clock' | 'dataDirectory' | 'output' | 'settings'>;

export async function listTokenKeys(context: Context): Promise<void> {
  const ops = findOpsClient(context.dataDirectory);
  const listing =
    ops === null
      ? await listAtRest(context)
      : await ops.ask<TokenKeyListing>('/v1/token-keys', new URLSearchParams());
  context.output.answer(listing, describeListing(listing));
}

export async function rotateTokenKeys(context: Context): Promise<void> {
  const ops = findOpsClient(context.dataDirectory);
  const rotated =
    ops === null
      ? await rotateAtRest(context)
      : await ops.change<TokenKeyRotationJson>('/v1/token-keys/rotate', {});
  context.output.answer(rotated, describeRotation(rotated));
}

export async function retireTokenKey(context: Context, kid: string): Promise<void> {
  const ops = findOpsClient(context.dataDirectory);
  const left =
    ops === null
      ? await retireAtRest(context, kid)
      : await ops.change<TokenKeyListing>('/v1/token-keys/retire', { kid });
  context.output.answer(
    left,
    `${showable(kid)} is retired: its tokens are refused\n${describeListing(left)}`,
  );
}

async function listAtRest({ settings, output }: Context): Promise<TokenKeyListing> {
  const file = tokenKeyFileOf(settings);
  const found = await file.find();
  if (found !== null && found.openMode !== null)
    output.remark(`others can read ${file.path}: chmod 600 it, and rotate`);
  return { keys: encodeTokenKeys(found?.keys ?? []) };
}

function rotateAtRest(context: Context): Promise<TokenKeyRotationJson> {
  const { clock, settings } = context;
  return changeAtRest(context, (audit) =>
    audit.record(
      'token-key.rotate',
      {},
      async () => encodeRotation(await tokenKeyFileOf(settings).rotate(wallSeconds(clock))),
      ({ keys, dropped }) => ({ result: 'ok', ids: { kid: keys[0]?.kid, dropped } }),
    ),
  );
}

function retireAtRest(context: Context, kid: string): Promise<TokenKeyListing> {
  return changeAtRest(context, (audit) =>
    audit.record('token-key.retire', { kid }, async () => {
      const left = await tokenKeyFileOf(context.settings).retire(kid);
      if (left.ok) return { keys: encodeTokenKeys(left.value) };
      throw new CommandError(retireRefusals[left.error](kid), `see ${reveilleCommand('token-key list')}`);
    }),
  );
}

function describeListing({ keys }: TokenKeyListing): string {
  if (keys.length === 0) return 'no token keys yet: the first start of the server makes one';
  const rows = keys.map(({ kid, created_at: createdAtS, signs }) => [
    kid,
    formatMoment(createdAtS, 'unknown'),
    signs ? 'signs' : 'accepted',
  ]);
  return alignColumns([['KID', 'MADE', 'USE'], ...rows]);
}

function describeRotation(rotated: TokenKeyRotationJson): string {
  const dropped = rotated.dropped.map((kid) => `\n${kid} is dropped: its tokens are refused`);
  return describeListing(rotated) + dropped.join('');
}
