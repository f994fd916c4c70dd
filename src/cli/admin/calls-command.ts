/** `reveille calls …`: lists, ends and watches the call sessions of a running server. Calls live in its memory only. */
import { Option, type Command } from 'commander';
import { callEndReasons, type CallEndReason } from '../../model/call.ts';
import type { CallJson, MediaProcessJson } from '../../gateways/admin/call-routes.ts';
import { CommandError, reveilleCommand, usageError } from '../shell/command-error.ts';
import { newCommand, type CommandContext, inContext } from '../shell/command-context.ts';
import { parseDeviceIdOption, wholeNumberOption, ageInWords } from '../shell/option-values.ts';
import { showable } from '../../lib/showable-text.ts';
import { asking, changing } from './ops-action.ts';
import { opsClient } from './running-server.ts';
import { alignColumns, tableOf } from '../shell/output.ts';

/** The server's own maximum. */
const listedMax = 1000;
const session = '01a2b3c4-0000-7000-8000-000000000003';

export function addCallsCommand(program: Command): void {
  const calls = program
    .command('calls')
    .description('List live calls, end or watch one, or show the capacity for more.');
  newCommand(calls, 'list', 'List the live call sessions, the oldest first.', '--device DOOR-1')
    .option('--device <id>', 'show only the calls of this device', parseDeviceIdOption)
    .option('--limit <count>', 'maximum number of calls', wholeNumberOption(1, listedMax), 100)
    .action(
      asking('/v1/calls', {
        send: ({ device, limit }: ListOptions) => ({ limit, device_id: device }),
        describe: ({ calls }: Listing, { clock }) => callsTable(calls, clock.wallMs()),
        remarks: ({ more }) => (more ? ['there are more: use a higher --limit, or --device'] : []),
      }),
    );
  newCommand(
    calls,
    'end',
    'End a call: the reason is sent to its device and its bridge, and its token becomes invalid.',
    `${session} --reason error`,
  )
    .argument('<session>', 'the session')
    .addOption(
      new Option('--reason <reason>', 'the reason in the event log')
        .choices(callEndReasons)
        .default('cancelled'),
    )
    .action(
      changing('/v1/calls/end', {
        send: (session: string, { reason }: { readonly reason: CallEndReason }) => ({ session, reason }),
        describe: ({ device_id: id, reason }: EndAnswer) => `ended the call of ${showable(id)} as ${reason}`,
      }),
    );
  newCommand(
    calls,
    'watch',
    "Print the address of a page that shows the phone's video of a call next to the device's screen, with sizes, " +
      "rates and drops; and a plain link to the device's pictures. Each link is valid once, for a minute. At most two " +
      'pictures of a call can be watched at once: the page uses two.',
  )
    .argument('[session]', 'the session (default: the only live call)')
    .action(inContext(watchCall));
  newCommand(
    calls,
    'capacity',
    'Show the media processes: the utilization of their workers, the share used by calls, and the number of further ' +
      'calls of the same kind that they can take.',
  ).action(
    asking('/v1/calls/capacity', {
      describe: ({ processes }: { readonly processes: readonly MediaProcessJson[] }) =>
        capacityTable(processes),
    }),
  );
}

interface ListOptions {
  readonly device?: string;
  readonly limit: number;
}

interface Listing {
  readonly calls: readonly CallJson[];
  readonly more: boolean;
}

interface EndAnswer {
  readonly device_id: string;
  readonly reason: CallEndReason;
}

interface LinkAnswer {
  readonly url: string;
  readonly expires_at: string;
}

async function watchCall(context: CommandContext, named: string | undefined): Promise<void> {
  const session = named ?? (await findOnlyCall(context));
  const ops = opsClient(context);
  const page = await ops.change<LinkAnswer>('/v1/calls/watch', { session });
  const picture = await ops.change<LinkAnswer>('/v1/calls/ticket', { session });
  context.output.answer({ page, picture }, `page     ${page.url}\npicture  ${picture.url}`);
  context.output.remark(`each link is valid once, until ${page.expires_at}`);
}

async function findOnlyCall(context: CommandContext): Promise<string> {
  const { calls } = await opsClient(context).ask<Listing>('/v1/calls', { limit: 2 });
  const [only, another] = calls;
  if (only === undefined)
    throw new CommandError('no call is live', `start one: ${reveilleCommand('simulate --call DEVICE')}`);
  if (another !== undefined)
    throw usageError('several calls are live', `name one of them: ${reveilleCommand('calls list')}`);
  return only.session;
}

export function callsTable(calls: readonly CallJson[], nowMs: number): string {
  if (calls.length === 0) return 'no live calls';
  return tableOf(calls, {
    SESSION: ({ session }) => session,
    DEVICE: (call) => showable(call.device_id),
    ROOM: (call) => showable(call.room_id),
    STATE: ({ state }) => state,
    ISSUED: (call) => ageInWords(Date.parse(call.created_at), nowMs),
    CONNECTED: legsInWords,
    MEDIA: ({ media }) => mediaInWords(media),
  });
}

const waits = { bridge: 'waits for a bridge', load: 'waits for a lower load', engine: 'waits for a decoder' };

function legsInWords({ legs, waits_for: waitsFor }: CallJson): string {
  const connected = [...(legs.device ? ['device'] : []), ...(legs.bridge ? ['bridge'] : [])];
  if (connected.length === 0) connected.push('nobody');
  return [...connected, ...(waitsFor === null ? [] : [waits[waitsFor]])].join(', ');
}

function capacityTable(capacity: readonly MediaProcessJson[]): string {
  if (capacity.length === 0) return 'no media process is available';
  const heading = ['PROCESS', 'LISTENS', 'WORKER', 'BUSY', 'TAKEN', 'CALLS', 'ROOM FOR'];
  const rows = capacity.flatMap(({ process, address, sessions, room, workers }) => [
    [process, address, 'all', '', '', sessions, room],
    ...workers.map((worker, n) => ['', '', n, percent(worker.busy), percent(worker.taken), '', worker.room]),
  ]);
  return alignColumns([heading, ...rows]);
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

function mediaInWords(media: CallJson['media']): string {
  const { screen_width: width, screen_height: height } = media;
  if (media.no_video) return `audio only, ${media.down_audio_mt}`;
  const screen = width === null || height === null ? '' : ` ${media.video_res_mode} ${width}×${height}`;
  return `${media.up_video_mt} up, ${media.down_video_mt} down${screen}, ${media.down_audio_mt}`;
}
