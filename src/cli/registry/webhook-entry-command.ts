/** `reveille webhook add|remove`: webhooks as entries of the registry, and how a command names one. */
import { InvalidArgumentError, type Command } from 'commander';
import { showable } from '../../lib/showable-text.ts';
import type { JsonObject } from '../../model/json.ts';
import { maskUrl } from '../../model/registry.ts';
import { addExamples, type CommandContext, inContext } from '../shell/command-context.ts';
import { collect } from '../shell/option-values.ts';
import { opsClient } from '../admin/running-server.ts';

const url = 'https://backend.example/hook';

export function addAddCommand(webhook: Command): void {
  const command = webhook
    .command('add')
    .description(
      "Add a webhook for an application's events. Its secret is made when none is given, and shown.",
    )
    .argument('<url>', 'http or https', parseUrl)
    .requiredOption('--app <id>', 'the application')
    .option('--type <type>', 'an event type it is told; may be repeated; all when left out', collect)
    .option('--secret <secret>', 'what its messages are signed with: whsec_ and base64; made when left out')
    .option('--replace', 'also when there is this webhook: it gets a new secret')
    .action(inContext(addWebhook));
  addExamples(
    command,
    [`webhook add ${url} --app 2818153`, 'told all events, signed with a secret that is made here'],
    [`webhook add ${url} --app 2818153 --type device.signal.online`, 'told only some'],
  );
}

export function addRemoveCommand(webhook: Command): void {
  const command = withName(
    webhook
      .command('remove')
      .description('Remove a webhook: it is told nothing more, and what is parked for it is forgotten.')
      .argument('<url>', 'the webhook', parseUrl),
  ).action(inContext(removeWebhook));
  addExamples(
    command,
    [`webhook remove ${url}`, 'for good'],
    [`webhook remove ${url} --app 2818153`, 'where several applications have it'],
  );
}

export interface NameOptions {
  /** Application; absent: the only one that has the URL. */
  readonly app?: string;
}

export function withName(command: Command): Command {
  return command.option('--app <id>', 'its application, where several have this URL');
}

export function parseUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError('A webhook is named by its URL, as the registry has it.');
  return text;
}

/** The name of a webhook in a request of the ops listener. */
export function webhookName(
  url: string,
  { app }: NameOptions,
): { readonly url: string; readonly app_id?: string } {
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
