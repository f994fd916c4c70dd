/** `reveille webhook …`: how receivers fare, and what an operator can do for them. */
import { InvalidArgumentError, type Command } from 'commander';
import { addExamples, contextOf } from '../shell/command-context.ts';
import { wholeNumberOption } from '../shell/option-values.ts';
import { enableWebhook, replayWebhook, testWebhook, type ReplayOptions } from './webhook-actions.ts';
import { listWebhooks, type ListOptions } from './webhook-list-action.ts';
import type { NameOptions } from './webhook-name.ts';

const parkedShownMax = 1000;
const url = 'https://backend.example/hook';

export function addWebhookCommand(program: Command): void {
  const webhook = program
    .command('webhook')
    .description('List webhooks, test one, send its parked events again, switch it on again.');
  addExamples(
    webhook,
    ['webhook list', 'how each of them fares'],
    [`webhook test ${url}`, 'a message to one of them, now'],
    [`webhook replay ${url}`, 'what was given up, once more'],
  );
  addList(webhook);
  addTest(webhook);
  addReplay(webhook);
  addEnable(webhook);
}

function addList(webhook: Command): void {
  const command = withName(
    webhook
      .command('list')
      .description('List webhooks; or show one with its parked events. Also of a server that does not run.')
      .argument('[url]', 'only this one, with its parked events', parseUrl),
  )
    .option('--limit <count>', 'parked events shown', wholeNumberOption(0, parkedShownMax), 20)
    .option('--after <sequence>', 'parked events behind this one', wholeNumberOption(0, 1e15), 0)
    .action((of: string | undefined, options: ListOptions, self: Command) =>
      listWebhooks(contextOf(self), of ?? null, options),
    );
  addExamples(
    command,
    ['webhook list', 'all of them'],
    [`webhook list ${url}`, 'one, with what was given up for it and why'],
    ['webhook list --json', 'for machines'],
  );
}

function addTest(webhook: Command): void {
  const command = withName(
    webhook
      .command('test')
      .description('Send a message of type webhook.test, signed like an event, and say how it was answered.')
      .argument('<url>', 'the webhook', parseUrl),
  ).action((of: string, options: NameOptions, self: Command) => testWebhook(contextOf(self), of, options));
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
    .action((of: string, options: ReplayOptions, self: Command) =>
      replayWebhook(contextOf(self), of, options),
    );
  addExamples(
    command,
    [`webhook replay ${url}`, 'all that are parked'],
    [
      `webhook replay ${url} --event 01a2b3c4-0000-7000-8000-000000000003`,
      'one; webhook list URL has the ids',
    ],
  );
}

function addEnable(webhook: Command): void {
  const command = withName(
    webhook
      .command('enable')
      .description('Switch a webhook on again that answered 410, and try one that keeps failing now.')
      .argument('<url>', 'the webhook', parseUrl),
  ).action((of: string, options: NameOptions, self: Command) => enableWebhook(contextOf(self), of, options));
  addExamples(
    command,
    [`webhook enable ${url}`, 'it goes on where it stopped, as far as the log still has it'],
    [`webhook enable ${url} --json`, 'for machines'],
  );
}

function withName(command: Command): Command {
  return command.option('--app <id>', 'its application, where several have this URL');
}

function parseUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError('A webhook is named by its URL, as the registry has it.');
  return text;
}
