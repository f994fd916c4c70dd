/** `reveille webhook …`: shows the state of deliveries, tests receivers and replays parked events. */
import { InvalidArgumentError, type Command } from 'commander';
import type { JsonObject } from '../../model/json.ts';
import { maskUrl } from '../../model/registry.ts';
import type {
  FailureJson,
  ParkedJson,
  WebhookAnswers,
  WebhookJson,
} from '../../webhooks/delivery/webhook-admin.ts';
import { reveilleCommand } from '../shell/command-error.ts';
import { newCommand, type CommandContext, inContext } from '../shell/command-context.ts';
import { collect, counted, wholeNumberOption, ageInWords } from '../shell/option-values.ts';
import { showable } from '../../lib/showable-text.ts';
import { outputOption } from '../shell/secret-file.ts';
import { asking, changing, makingSecret } from './ops-action.ts';
import { opsClient } from './running-server.ts';
import type { OpsClient } from './ops-client.ts';
import { alignColumns, tableOf } from '../shell/output.ts';

const parkedShownMax = 1000;
const url = 'https://backend.example/hook';

export function addWebhookCommand(program: Command): void {
  const webhook = program
    .command('webhook')
    .description('Add, show, test, enable and remove webhooks, replay parked events.');
  newCommand(
    webhook,
    'add',
    "Add a webhook for an application's events.",
    `${url} --app 2818153 --type device.signal.online`,
  )
    .argument('<url>', 'http or https', parseUrl)
    .requiredOption('--app <id>', 'the application')
    .option('--type <type>', 'a type of events to send; may be repeated (default: all)', collect)
    .option('--secret <secret>', 'signs its messages: whsec_ and base64 (default: generated, and shown once)')
    .option('--replace', 'give an existing webhook a new secret')
    .addOption(outputOption())
    .action(
      makingSecret('/v1/webhook/add', {
        send: (url: string, { app, type: types, secret, replace }: AddOptions) => ({
          app_id: app,
          url,
          secret,
          types,
          replace,
        }),
        describe: ({ webhook }: { readonly webhook: JsonObject }, _context, url, { app, secret }) => {
          const added = `added ${showable(maskUrl(url))} of ${showable(app)}`;
          const made = `\nsecret  ${String(webhook['secret'])}  (shown this once)`;
          return secret === undefined ? added + made : added;
        },
      }),
    );
  newCommand(webhook, 'list', 'List the webhooks, and the state of their deliveries.').action(
    asking('/v1/webhook/list', {
      describe: (all: Pick<ShowAnswer, 'webhooks'>, { clock }) => webhookTable(all.webhooks, clock.wallMs()),
    }),
  );
  addNamed(webhook, 'show', 'Show one webhook with its parked events.')
    .option('--limit <count>', 'maximum number of parked events', wholeNumberOption(0, parkedShownMax), 20)
    .option('--after <sequence>', 'show only parked events after this one', wholeNumberOption(0, 1e15), 0)
    .action(
      asking('/v1/webhook/list', {
        send: (url: string, { limit, after, ...name }: ShowOptions) => ({
          ...webhookName(url, name),
          limit,
          after,
        }),
        describe: ({ webhooks: [webhook], parked }: ShowAnswer, { clock }) =>
          describeWebhookAlone(webhook, parked, clock.wallMs()),
      }),
    );
  addNamed(
    webhook,
    'test',
    'Send a message of type webhook.test, signed like an event, and show the answer. Exits 1 unless it is accepted.',
  ).action(
    changing('/v1/webhook/test', {
      send: webhookName,
      describe: ({ delivered, status, reason, took_ms: tookMs }: WebhookAnswers['test']) =>
        delivered
          ? `delivered: answered ${status} after ${tookMs} ms`
          : `not delivered: ${reason} (after ${tookMs} ms)`,
      fails: ({ delivered }) => !delivered,
    }),
  );
  addNamed(webhook, 'replay', 'Send parked events again, with their old ids.')
    .option('--event <id>', 'the id of one event, from webhook show (default: all)')
    .action(inContext(replayWebhook));
  addNamed(
    webhook,
    'enable',
    'Enable a webhook that answered 410, or retry a failing one now. It continues where it stopped, as far as the ' +
      'log goes back.',
  ).action(
    changing('/v1/webhook/enable', {
      send: webhookName,
      describe: ({ webhook: { url, behind } }: { readonly webhook: WebhookJson }) =>
        `${showable(url)} is on; ${counted(behind, 'event of the log is', 'events of the log are')} behind its cursor`,
    }),
  );
  addNamed(webhook, 'remove', 'Remove a webhook and its parked events.').action(
    changing('/v1/webhook/remove', {
      send: webhookName,
      describe: (_removed, _context, url) => `${showable(maskUrl(url))} is removed`,
    }),
  );
}

function addNamed(webhook: Command, name: string, description: string): Command {
  return newCommand(webhook, name, description, url)
    .argument('<url>', 'the webhook', parseUrl)
    .option('--app <id>', 'its application, if several use this URL');
}

function parseUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError('The URL identifies a webhook, as written in the registry.');
  return text;
}

interface NameOptions {
  /** Application. Default: the only one with this URL. */
  readonly app?: string;
}

function webhookName(url: string, { app }: NameOptions) {
  return { url, app_id: app };
}

interface AddOptions {
  readonly app: string;
  readonly type?: readonly string[];
  readonly secret?: string;
  readonly replace?: boolean;
}

interface ShowOptions extends NameOptions {
  readonly limit: number;
  readonly after: number;
}

interface ReplayOptions extends NameOptions {
  /** Event id. Default: all parked events. */
  readonly event?: string;
}

interface ShowAnswer {
  readonly webhooks: readonly [WebhookJson];
  readonly parked: readonly ParkedJson[];
}

type ReplayAnswer = WebhookAnswers['replay'];

async function replayWebhook(context: CommandContext, url: string, options: ReplayOptions): Promise<void> {
  const name = webhookName(url, options);
  const ops = opsClient(context);
  const answer =
    options.event === undefined
      ? await replayAll(ops, name)
      : await ops.change<ReplayAnswer>('/v1/webhook/replay', { ...name, event_id: options.event });
  context.output.answer(answer, describeReplay(answer, url));
}

/** Repeats the request, since the server replays a limited batch at a time. */
async function replayAll(ops: OpsClient, name: object): Promise<ReplayAnswer> {
  let replayed = 0;
  for (;;) {
    const answer = await ops.change<ReplayAnswer>('/v1/webhook/replay', name);
    replayed += answer.replayed;
    if (answer.replayed === 0 || answer.parked === 0) return { replayed, parked: answer.parked };
  }
}

function describeReplay({ replayed, parked }: ReplayAnswer, url: string): string {
  if (replayed === 0 && parked === 0) return 'no event is parked';
  const sent = `${counted(replayed, 'event is', 'events are')} sent again`;
  if (parked === 0) return sent;
  return `${sent}; ${parked} ${parked === 1 ? 'is' : 'are'} still parked: see ${reveilleCommand(`webhook show ${maskUrl(url)}`)}`;
}

function webhookTable(webhooks: readonly WebhookJson[], nowMs: number): string {
  if (webhooks.length === 0) return 'no webhooks in the registry';
  return tableOf(webhooks, {
    APPLICATION: (webhook) => webhook.app_id,
    URL: ({ url }) => url,
    STATE: ({ state }) => state,
    BEHIND: ({ behind }) => behind,
    FAILED: ({ failed }) => failed,
    PARKED: ({ parked }) => parked,
    DELIVERED: (webhook) => age(webhook.last_success_at, nowMs),
    'LAST FAILURE': (webhook) => failure(webhook.last_failure, nowMs),
  });
}

function describeWebhookAlone(webhook: WebhookJson, parked: readonly ParkedJson[], nowMs: number): string {
  const rows = [
    ['webhook', webhook.url],
    ['application', webhook.app_id],
    ['types', webhook.types.join(', ')],
    ['state', stateInWords(webhook, nowMs)],
    ['behind', `${counted(webhook.behind, 'event')} of the log`],
    ['failed', `${counted(webhook.failed, 'waits', 'wait')} to be tried again`],
    ['parked', `${webhook.parked} given up`],
    ['delivered', age(webhook.last_success_at, nowMs)],
    ['last failure', failure(webhook.last_failure, nowMs)],
  ];
  const listed = parked.length === 0 ? [] : ['', parkedTable(parked), ...whatElse(webhook, parked)];
  return [alignColumns(rows), ...listed].join('\n');
}

function parkedTable(parked: readonly ParkedJson[]): string {
  return tableOf(parked, {
    'PARKED EVENT': (event) => event.event_id,
    AT: ({ at }) => at,
    TYPE: ({ type }) => type,
    DEVICE: (event) => event.device_id,
    'LAST ANSWER': (event) => event.last_failure.reason,
  });
}

function whatElse({ parked: count, url }: WebhookJson, parked: readonly ParkedJson[]): string[] {
  const more = count > parked.length ? [`there may be more: --after ${parked.at(-1)?.sequence}`] : [];
  return ['', ...more, `send them again: ${reveilleCommand(`webhook replay ${url}`)}`];
}

function stateInWords({ state, url, switched_off_at: offAt }: WebhookJson, nowMs: number): string {
  if (state === 'on') return 'on';
  if (state === 'open-circuit') return 'it keeps failing: the server retries one event at a time';
  return `off: it answered 410 ${age(offAt, nowMs)}; on again: ${reveilleCommand(`webhook enable ${url}`)}`;
}

function failure(last: FailureJson | null, nowMs: number): string | null {
  return last === null ? null : `${age(last.at, nowMs)}: ${last.reason}`;
}

function age(at: string | null, nowMs: number): string {
  return at === null ? 'never' : ageInWords(Date.parse(at), nowMs);
}
