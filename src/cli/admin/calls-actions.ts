/** What `reveille calls …` does: asks the running server, which alone has live calls. */
import type { CallEndReason } from '../../model/call.ts';
import type { CallJson } from '../../gateways/admin/call-json.ts';
import { advised } from './advised.ts';
import { callsTable } from './calls-view.ts';
import { CommandError } from '../shell/command-error.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { showable } from '../shell/showable.ts';
import { reveilleCommand } from '../api/invocation.ts';
import { findOpsClient, type OpsClient } from './ops-client.ts';

export interface ListCallsOptions {
  readonly device?: string;
  readonly limit: number;
}

interface Listing {
  readonly calls: readonly CallJson[];
  readonly more: boolean;
}

interface EndAnswer {
  readonly session: string;
  readonly device_id: string;
  readonly reason: CallEndReason;
}

/** What opens once. */
interface LinkAnswer {
  readonly url: string;
  readonly expires_at: string;
}

export async function listCalls(context: CommandContext, { device, limit }: ListCallsOptions): Promise<void> {
  const query = new URLSearchParams({
    limit: String(limit),
    ...(device !== undefined && { device_id: device }),
  });
  const listing = await servingOps(context).ask<Listing>('/v1/calls', query);
  context.output.answer(listing, callsTable(listing.calls, context.clock.wallMs()));
  if (listing.more) context.output.remark('there are more: ask for them with --limit, or with --device');
}

export async function endCall(
  context: CommandContext,
  session: string,
  reason: CallEndReason,
): Promise<void> {
  const answer = await change<EndAnswer>(context, '/v1/calls/end', { session, reason });
  context.output.answer(answer, `ended the call of ${showable(answer.device_id)} as ${answer.reason}`);
}

export async function watchCall(context: CommandContext, session: string): Promise<void> {
  const page = await change<LinkAnswer>(context, '/v1/calls/watch', { session });
  const picture = await change<LinkAnswer>(context, '/v1/calls/ticket', { session });
  context.output.answer({ page, picture }, `page     ${page.url}\npicture  ${picture.url}`);
  context.output.remark(`each opens once, until ${page.expires_at}`);
}

function change<Answer>(context: CommandContext, path: string, body: object): Promise<Answer> {
  return advised(`see which there are: ${reveilleCommand('calls list')}`, () =>
    servingOps(context).change<Answer>(path, body),
  );
}

function servingOps({ dataDirectory }: CommandContext): OpsClient {
  const ops = findOpsClient(dataDirectory);
  if (ops !== null) return ops;
  throw new CommandError(
    `no server runs on ${dataDirectory}, and only a running one has calls`,
    'name the data directory of the running one with --data-dir',
  );
}
