/** `reveille events`: prints the event log of all applications, as an operator, or of one application, by its access key. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { eventTypes } from '../../model/events.ts';
import { eventsPageMax } from '../../model/limits.ts';
import { parseTypePattern } from '../../gateways/admin/event-query.ts';
import { follow, retryMs, type Shown } from '../admin/follow.ts';
import { opsClient } from '../admin/running-server.ts';
import { newCommand, type CommandContext, untilInterrupted, inContext } from '../shell/command-context.ts';
import { counted, parseDeviceIdOption, wholeNumberOption } from '../shell/option-values.ts';
import { addApiOptions, withApi, type ApiOptions } from './api-access.ts';
import { readerOfApi, readerOfOps, type EventReader, type ReadEvents } from './event-readers.ts';
import { type EventsSince, formatEvent, parseSince } from './events-text.ts';

interface EventsOptions extends ApiOptions {
  /** Number of newest events, at most one answer's. */
  readonly last: number;
  /** Starting place. Default: the newest events. */
  readonly since?: EventsSince;
  readonly follow?: boolean;
  readonly device?: string;
  /** Types, or prefixes that end in `*`. */
  readonly type?: readonly string[];
}

export function addEventsCommand(program: Command): void {
  const since = new Option(
    '--since <when>',
    'show all events since an age like 10m, a moment, an event id or a cursor',
  );
  const command = newCommand(
    program,
    'events',
    'Show events, oldest first, one per line, or with --json as backends receive them. With --url or a credential, show those ' +
      'of its application, from the API.',
    "--since 10m --type 'device.wakeup.*'",
    '--follow --last 0 --device DOOR-1 --json',
    ['--follow --url https://reveille.example --credential key.json', 'with an API key only'],
  )
    .option(
      '--last <count>',
      'show the newest events, up to this number',
      wholeNumberOption(0, eventsPageMax),
      20,
    )
    .addOption(since.argParser(parseSince).conflicts('last'))
    .option('-f, --follow', 'continue until Ctrl-C, across restarts of the server')
    .option('--device <id>', 'show only events of this device', parseDeviceIdOption)
    .option('--type <type>', 'show only this type, or a prefix that ends in *; may be repeated', collectType)
    .action(inContext(showEvents));
  addApiOptions(command);
}

function collectType(text: string, before: readonly string[] = []): readonly string[] {
  if (parseTypePattern(text) === null)
    throw new InvalidArgumentError(`There is no such type. The types are ${eventTypes.join(', ')}.`);
  return [...before, text];
}

async function showEvents(context: CommandContext, options: EventsOptions): Promise<void> {
  const { last: _last, since: _since, follow: _follow, device, type, ...access } = options;
  const show = (reader: EventReader): Promise<void> => showFrom(context, reader, options);
  const filter = { ...(device !== undefined && { device }), ...(type !== undefined && { type }) };
  if (Object.keys(access).length === 0) return show(readerOfOps(() => opsClient(context), filter));
  await withApi(context, access, { permissions: ['events:read'], deviceId: device ?? null }, (api) =>
    show(readerOfApi(api, filter)),
  );
}

async function showFrom(
  context: CommandContext,
  reader: EventReader,
  { last, since, follow: isFollowed }: EventsOptions,
): Promise<void> {
  const { clock, output } = context;
  let hasShown = false;
  const show = ({ events, truncated }: ReadEvents, remark: string): void => {
    if (truncated) output.remark(remark);
    for (const event of events) output.answer(event, formatEvent(event));
    hasShown ||= events.length > 0;
  };
  let next = 0;
  if (since === undefined) {
    const progress = context.newProgressLine();
    const read = await reader.last(last, (looked) => progress.show(`searched ${counted(looked, 'event')}`));
    progress.clear();
    show({ ...read, truncated: false }, '');
    next = read.next;
  } else
    for await (const read of reader.since(since(clock.wallMs()))) {
      show(read, 'earlier events have been deleted');
      next = read.next;
    }
  if (isFollowed !== true) {
    if (!hasShown && last > 0) output.remark('the log has no such event');
    return;
  }
  const followed = {
    clock,
    ask: (behind: number, given: AbortSignal) => reader.behind(behind, given),
    show: (read: ReadEvents): Shown<number> => {
      show(read, 'some events in between have been deleted');
      const { events, draining = false } = read;
      return {
        next: read.next,
        pauseMs: draining && events.length === 0 ? retryMs : 0,
        isStopping: draining,
      };
    },
    remark: (text: string) => output.remark(text),
  };
  return untilInterrupted((signal) => follow(followed, next, signal));
}
