/** What `reveille webhook test|replay|enable` does: asks the running server. */
import type { WebhookJson } from '../../gateways/admin/webhook-json.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { reveilleCommand } from '../api/invocation.ts';
import type { OpsClient } from './ops-client.ts';
import { servingOps, webhookName, type NameOptions } from './webhook-name.ts';
import { showable } from '../shell/showable.ts';

export interface ReplayOptions extends NameOptions {
  /** Event id; absent: all that are parked. */
  readonly event?: string;
}

interface TestAnswer {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly reason: string | null;
  readonly took_ms: number;
}

interface ReplayAnswer {
  readonly replayed: number;
  readonly parked: number;
}

export async function testWebhook(context: CommandContext, url: string, options: NameOptions): Promise<void> {
  const answer = await servingOps(context).change<TestAnswer>('/v1/webhook/test', webhookName(url, options));
  const { delivered, status, reason, took_ms: tookMs } = answer;
  const text = delivered
    ? `delivered: answered ${status} after ${tookMs} ms`
    : `not delivered: ${reason} (after ${tookMs} ms)`;
  context.output.answer(answer, text);
  if (!delivered) process.exitCode = 1;
}

export async function replayWebhook(
  context: CommandContext,
  url: string,
  options: ReplayOptions,
): Promise<void> {
  const name = webhookName(url, options);
  const ops = servingOps(context);
  const answer =
    options.event === undefined
      ? await replayAll(ops, name)
      : await ops.change<ReplayAnswer>('/v1/webhook/replay', { ...name, event_id: options.event });
  context.output.answer(answer, describeReplay(answer, url));
}

/** The server takes some at a time, and no more than it has room for. */
async function replayAll(ops: OpsClient, name: object): Promise<ReplayAnswer> {
  let replayed = 0;
  for (;;) {
    const answer = await ops.change<ReplayAnswer>('/v1/webhook/replay', name);
    replayed += answer.replayed;
    if (answer.replayed === 0 || answer.parked === 0) return { replayed, parked: answer.parked };
  }
}

function describeReplay({ replayed, parked }: ReplayAnswer, url: string): string {
  if (replayed === 0 && parked === 0) return 'no event is parked: nothing to send again';
  const sent = `${replayed} ${replayed === 1 ? 'event is' : 'events are'} sent again`;
  if (parked === 0) return sent;
  return `${sent}; ${parked} are still parked: see ${reveilleCommand(`webhook list ${url}`)}`;
}

export async function enableWebhook(
  context: CommandContext,
  url: string,
  options: NameOptions,
): Promise<void> {
  const ops = servingOps(context);
  const name = webhookName(url, options);
  const answer = await ops.change<{ webhook: WebhookJson }>('/v1/webhook/enable', name);
  const { behind } = answer.webhook;
  context.output.answer(answer, `${showable(url)} is on; ${behind} events of the log are behind its cursor`);
}
