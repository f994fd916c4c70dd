/** `reveille webhook …`: how receivers fare, and what an operator can do for them. */
import { InvalidArgumentError, type Command } from 'commander';
import type { JsonObject } from '../../model/json.ts';
import { maskUrl } from '../../model/registry.ts';
import type { ParkedJson, WebhookJson } from '../../core/ports/webhook-admin.ts';
import { reveilleCommand } from '../shell/command-error.ts';
import { examples, type CommandContext, inContext } from '../shell/command-context.ts';
import { collect, counted, wholeNumberOption } from '../shell/option-values.ts';
import { showable } from '../../lib/showable-text.ts';
import { opsClient } from './running-server.ts';
import type { OpsClient } from './ops-client.ts';
import { describeWebhookAlone, webhookTable } from './webhook-view.ts';

const parkedShownMax = 1000;
const url = 'https://backend.example/hook';

export function addWebhookCommand(program: Command): void {
  const webhook = program
    .command('webhook')
    .description('Add, show, test and remove webhooks, send parked events again, enable a webhook again.');
  webhook
    .command('add')
    .description("Add a webhook for an application's events.")
    .argument('<url>', 'http or https', parseUrl)
    .requiredOption('--app <id>', 'the application')
    .option('--type <type>', 'an event type to send; may be repeated (default: all)', collect)
    .option('--secret <secret>', 'signs its messages: whsec_ and base64 (default: generated, and shown once)')
    .option('--replace', 'give an existing webhook a new secret')
    .addHelpText('after', examples(`webhook add ${url} --app 2818153 --type device.signal.online`))
    .action(inContext(addWebhook));
  webhook
    .command('list')
    .description('List the webhooks, and the state of their deliveries.')
    .addHelpText('after', examples('webhook list'))
    .action(inContext(listWebhooks));
  addNamed(webhook, 'show', 'Show one webhook with its parked events.')
    .option('--limit <count>', 'parked events shown', wholeNumberOption(0, parkedShownMax), 20)
    .option('--after <sequence>', 'only parked events after this one', wholeNumberOption(0, 1e15), 0)
    .action(inContext(showWebhook));
  addNamed(
    webhook,
    'test',
    'Send a message of type webhook.test, signed like an event, and show the answer. Exits 1 unless it is accepted.',
  ).action(inContext(testWebhook));
  addNamed(webhook, 'replay', 'Send parked events again, under their old ids.')
    .option('--event <id>', 'only this one, as webhook show has it (default: all)')
    .action(inContext(replayWebhook));
  addNamed(
    webhook,
    'enable',
    'Enable a webhook again that answered 410, or retry a failing one now. It continues where it stopped, as far as the ' +
      'log goes back.',
  ).action(inContext(enableWebhook));
  addNamed(webhook, 'remove', 'Remove a webhook and its parked events.').action(inContext(removeWebhook));
}

/** A command about one webhook. */
function addNamed(webhook: Command, name: string, description: string): Command {
  return webhook
    .command(name)
    .description(description)
    .argument('<url>', 'the webhook', parseUrl)
    .option('--app <id>', 'its application, where several have this URL')
    .addHelpText('after', examples(`webhook ${name} ${url}`));
}

function parseUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError('A webhook is named by its URL, as the registry has it.');
  return text;
}

interface NameOptions {
  /** Application; absent: the only one that has the URL. */
  readonly app?: string;
}

/** The name of a webhook in a request of the ops listener. */
function webhookName(url: string, { app }: NameOptions): { readonly url: string; readonly app_id?: string } {
  return { url, ...(app !== undefined && { app_id: app }) };
}

interface AddOptions {
  readonly app: string;
  readonly type?: readonly string[];
  readonly secret?: string;
  readonly replace?: boolean;
}

async function addWebhook(
  context: CommandContext,
  url: string,
  { app, type: types, secret, replace = false }: AddOptions,
): Promise<void> {
  const body = { app_id: app, url, secret, types, replace };
  const { webhook } = await opsClient(context).change<{ webhook: JsonObject }>('/v1/webhook/add', body);
  const added = `added ${showable(maskUrl(url))} of ${showable(app)}`;
  context.output.answer(
    { webhook },
    secret === undefined ? `${added}\nsecret  ${String(webhook['secret'])}  (shown this once)` : added,
  );
}

async function removeWebhook(context: CommandContext, url: string, options: NameOptions): Promise<void> {
  const removed = await opsClient(context).change<object>('/v1/webhook/remove', webhookName(url, options));
  context.output.answer(removed, `${showable(maskUrl(url))} is removed`);
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
