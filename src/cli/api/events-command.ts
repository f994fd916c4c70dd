/** `reveille events`: the log of what happened, over all applications, as an operator reads it. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { eventTypes } from '../../model/events.ts';
import { eventsPageMax } from '../../model/limits.ts';
import { parseTypePattern } from '../../gateways/admin/event-filter.ts';
import { addExamples, contextOf } from '../shell/command-context.ts';
import { parseDeviceIdOption, wholeNumberOption } from '../shell/option-values.ts';
import { events, type EventsOptions } from './events-action.ts';
import { parseSince } from './events-since.ts';

export function addEventsCommand(program: Command): void {
  const since = new Option(
    '--since <when>',
    'all from there: 10m, a moment, the id of an event, or a cursor',
  );
  const command = program
    .command('events')
    .description(
      'Show what happened, oldest first: a line an event, or with --json the event as backends get it.',
    )
    .option('--last <count>', 'the newest so many', wholeNumberOption(0, eventsPageMax), 20)
    .addOption(since.argParser(parseSince).conflicts('last'))
    .option('-f, --follow', 'go on until Ctrl-C, also over a restart of the server')
    .option('--device <id>', 'only of this device', parseDeviceIdOption)
    .option(
      '--type <type>',
      'only this type; ends with * for all that begin so; may be repeated',
      collectType,
    )
    .action((options: EventsOptions, self: Command) => events(contextOf(self), options));
  addExamples(
    command,
    ['events', 'the newest 20, also of a server that does not run'],
    ['events --follow', 'and what happens from now on'],
    ["events --since 10m --type 'device.wakeup.*'", 'how the wakeups of the last ten minutes went'],
    ['events --follow --last 0 --device DOOR-1 --json', 'one device from now on, for machines'],
  );
}

function collectType(text: string, before: readonly string[] = []): readonly string[] {
  if (parseTypePattern(text) === null)
    throw new InvalidArgumentError(`There is no such type. There are ${eventTypes.join(', ')}.`);
  return [...before, text];
}
