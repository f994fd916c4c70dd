/** `reveille webhook …`: how receivers fare, and what an operator can do for them. */
import type { Command } from 'commander';
import { maskUrl } from '../../model/registry.ts';
import type { ParkedJson, WebhookJson } from '../../gateways/admin/webhook-routes.ts';
import { reveilleCommand } from '../shell/command-error.ts';
import { addExamples, type CommandContext, inContext } from '../shell/command-context.ts';
import { counted, wholeNumberOption } from '../shell/option-values.ts';
import { showable } from '../../lib/showable-text.ts';
import { opsClient } from './running-server.ts';
import {
  addAddCommand,
  addRemoveCommand,
  parseUrl,
  webhookName,
  withName,
  type NameOptions,
} from '../registry/webhook-entry-command.ts';
import type { OpsClient } from './ops-client.ts';
import { describeWebhookAlone, webhookTable } from './webhook-view.ts';

const parkedShownMax = 1000;
const url = 'https://backend.example/hook';

export function addWebhookCommand(program: Command): void {
  const webhook = program
    .command('webhook')
    .description(
      'Add, show and remove webhooks, test one, send its parked events again, switch it on again.',
    );
  addExamples(
    webhook,
    ['webhook list', 'how each of them fares'],
    [`webhook test ${url}`, 'a message to one of them, now'],
    [`webhook replay ${url}`, 'what was given up, once more'],
  );
  addAddCommand(webhook);
  addList(webhook);
  addShow(webhook);
  addTest(webhook);
  addReplay(webhook);
  addEnable(webhook);
  addRemoveCommand(webhook);
}

function addList(webhook: Command): void {
  const command = webhook
    .command('list')
    .description('List the webhooks, and how each of them fares.')
    .action(inContext(listWebhooks));
  addExamples(command, ['webhook list', 'for people'], ['webhook list --json', 'for machines']);
}

function addShow(webhook: Command): void {
  const command = withName(
    webhook
      .command('show')
      .description('Show one webhook with its parked events.')
      .argument('<url>', 'the webhook', parseUrl),
  )
    .option('--limit <count>', 'parked events shown', wholeNumberOption(0, parkedShownMax), 20)
    .option('--after <sequence>', 'parked events behind this one', wholeNumberOption(0, 1e15), 0)
    .action(inContext(showWebhook));
  addExamples(
    command,
    [`webhook show ${url}`, 'how it fares, and what was given up for it and why'],
    [`webhook show ${url} --json`, 'for machines'],
  );
}

function addTest(webhook: Command): void {
  const command = withName(
    webhook
      .command('test')
      .description('Send a message of type webhook.test, signed like an event, and say how it was answered.')
      .argument('<url>', 'the webhook', parseUrl),
  ).action(inContext(testWebhook));
  addExamples(
    command,
    [`webhook test ${url}`, 'exits 0 when the receiver takes it'],
    [`webhook test ${url} --app 2818153`, 'where several applications have it'],
  );
}

function addReplay(webhook: Command): void {
  const command = withName(
    webhook
      .command('replay')
      .description('Send parked events again, under their old ids, as if they had never been tried.')
      .argument('<url>', 'the webhook', parseUrl),
  )
    .option('--event <id>', 'only this one; all of them when left out')
    .action(inContext(replayWebhook));
  addExamples(
    command,
    [`webhook replay ${url}`, 'all that are parked'],
    [`webhook replay ${url} --event 01a2b3c4-0000-7000-8000-000000000003`, 'one; webhook show has the ids'],
  );
}

function addEnable(webhook: Command): void {
  const command = withName(
    webhook
      .command('enable')
      .description('Switch a webhook on again that answered 410, and try one that keeps failing now.')
      .argument('<url>', 'the webhook', parseUrl),
  ).action(inContext(enableWebhook));
  addExamples(
    command,
    [`webhook enable ${url}`, 'it goes on where it stopped, as far as the log still has it'],
    [`webhook enable ${url} --json`, 'for machines'],
  );
}

interface ShowOptions extends NameOptions {
  readonly limit: number;
  /** The sequence of the last parked event seen. */
  readonly after: number;
}

interface ReplayOptions extends NameOptions {
  /** Event id; absent: all that are parked. */
  readonly event?: string;
}

interface ShowAnswer {
  readonly webhooks: readonly [WebhookJson];
  readonly parked: readonly ParkedJson[];
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

async function testWebhook(context: CommandContext, url: string, options: NameOptions): Promise<void> {
  const answer = await opsClient(context).change<TestAnswer>('/v1/webhook/test', webhookName(url, options));
  const { delivered, status, reason, took_ms: tookMs } = answer;
  const text = delivered
    ? `delivered: answered ${status} after ${tookMs} ms`
    : `not delivered: ${reason} (after ${tookMs} ms)`;
  context.output.answer(answer, text);
  if (!delivered) process.exitCode = 1;
}

async function replayWebhook(context: CommandContext, url: string, options: ReplayOptions): Promise<void> {
  const name = webhookName(url, options);
  const ops = opsClient(context);
  const answer =
    options.event === undefined
      ? await replayAll(ops, name)
      : await ops.change<ReplayAnswer>('/v1/webhook/replay', { ...name, event_id: options.event });
  context.output.answer(answer, describeReplay(answer, url));
}

/** The server replays a batch at a time, up to its own limits. */
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
  const sent = `${counted(replayed, 'event is', 'events are')} sent again`;
  if (parked === 0) return sent;
  return `${sent}; ${parked} ${parked === 1 ? 'is' : 'are'} still parked: see ${reveilleCommand(`webhook show ${maskUrl(url)}`)}`;
}

async function enableWebhook(context: CommandContext, url: string, options: NameOptions): Promise<void> {
  const ops = opsClient(context);
  const name = webhookName(url, options);
  const answer = await ops.change<{ webhook: WebhookJson }>('/v1/webhook/enable', name);
  const { behind } = answer.webhook;
  context.output.answer(
    answer,
    `${showable(answer.webhook.url)} is on; ${counted(behind, 'event of the log is', 'events of the log are')} behind its cursor`,
  );
}

async function listWebhooks(context: CommandContext): Promise<void> {
  const { clock, output } = context;
  const listing = await opsClient(context).ask<{ webhooks: readonly WebhookJson[] }>('/v1/webhook/list');
  output.answer(listing, webhookTable(listing.webhooks, clock.wallMs()));
}

async function showWebhook(
  context: CommandContext,
  url: string,
  { limit, after, ...name }: ShowOptions,
): Promise<void> {
  const query = { ...webhookName(url, name), limit: String(limit), after: String(after) };
  const listing = await opsClient(context).ask<ShowAnswer>('/v1/webhook/list', new URLSearchParams(query));
  const { webhooks, parked } = listing;
  context.output.answer(listing, describeWebhookAlone(webhooks[0], parked, context.clock.wallMs()));
}
