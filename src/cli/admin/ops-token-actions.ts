/** What `reveille ops-token …` does: asks the running server, or changes the file while none runs. */
import { wallSeconds } from '../../lib/clock.ts';
import type { OpsRole } from '../../model/operator.ts';
import {
  createRefusals,
  encodeOpsTokens,
  unknownToken,
  type FreshOpsTokenJson,
  type OpsTokenListing,
} from '../../gateways/admin/ops-token-routes.ts';
import { OpsTokenFile } from '../../storage/keys/ops-token-file.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { CommandError } from '../shell/command-error.ts';
import { reveilleCommand } from '../api/invocation.ts';
import { findOpsClient } from './ops-client.ts';
import { formatMoment } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { changeAtRest } from './resting-audit.ts';
import { showable } from '../shell/showable.ts';

type Context = Pick<CommandContext, 'clock' | 'dataDirectory' | 'output'>;

export async function createOpsToken(context: Context, name: string, role: OpsRole): Promise<void> {
  const ops = findOpsClient(context.dataDirectory);
  const fresh =
    ops === null
      ? await createAtRest(context, name, role)
      : await ops.change<FreshOpsTokenJson>('/v1/ops-tokens/create', { name, role });
  context.output.answer(
    fresh,
    `made a token for ${name} (${role})\ntoken  ${fresh.token}  (shown this once)`,
  );
}

export async function listOpsTokens(context: Context): Promise<void> {
  const ops = findOpsClient(context.dataDirectory);
  const listing =
    ops === null
      ? { tokens: encodeOpsTokens(await new OpsTokenFile(context.dataDirectory).read()) }
      : await ops.ask<OpsTokenListing>('/v1/ops-tokens', new URLSearchParams());
  context.output.answer(listing, describe(listing));
}

export async function revokeOpsToken(context: Context, name: string): Promise<void> {
  const ops = findOpsClient(context.dataDirectory);
  if (ops === null) await revokeAtRest(context, name);
  else await ops.change('/v1/ops-tokens/revoke', { name });
  context.output.answer(
    { revoked: name },
    `the token of ${showable(name)} is revoked: it is refused from now on`,
  );
}

function createAtRest(context: Context, name: string, role: OpsRole): Promise<FreshOpsTokenJson> {
  return changeAtRest(context, (audit) =>
    audit.record('ops-token.create', { name, role }, async () => {
      const file = new OpsTokenFile(context.dataDirectory);
      const created = await file.create({ name, role }, wallSeconds(context.clock));
      if (!created.ok) throw new CommandError(createRefusals[created.error](name));
      return { name, role, token: created.value.token };
    }),
  );
}

function revokeAtRest(context: Context, name: string): Promise<void> {
  return changeAtRest(context, (audit) =>
    audit.record('ops-token.revoke', { name }, async () => {
      if ((await new OpsTokenFile(context.dataDirectory).revoke(name)) !== null) return;
      throw new CommandError(unknownToken(name), `see ${reveilleCommand('ops-token list')}`);
    }),
  );
}

function describe({ tokens }: OpsTokenListing): string {
  if (tokens.length === 0) return 'no named tokens; the local command line has ops.token';
  const rows = tokens.map(({ name, role, created_at: createdAtS, last_used_at: lastUsedAtS }) => [
    name,
    role,
    formatMoment(createdAtS, 'unknown'),
    formatMoment(lastUsedAtS, 'never'),
  ]);
  return alignColumns([['NAME', 'ROLE', 'MADE', 'LAST USED'], ...rows]);
}
