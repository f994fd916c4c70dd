/** `reveille calls …`: the call sessions that live on a running server, which alone has any. */
import { Option, type Command } from 'commander';
import { callEndReasons, type CallEndReason } from '../../model/call.ts';
import type { CallJson, MediaProcessJson } from '../../gateways/admin/call-routes.ts';
import { CommandError, reveilleCommand, usageError } from '../shell/command-error.ts';
import { examples, type CommandContext, inContext } from '../shell/command-context.ts';
import { parseDeviceIdOption, wholeNumberOption } from '../shell/option-values.ts';
import { showable } from '../../lib/showable-text.ts';
import { callsTable, capacityTable } from './calls-view.ts';
import { opsClient } from './running-server.ts';

/** The most that the server lists. */
const listedMax = 1000;
const session = '01a2b3c4-0000-7000-8000-000000000003';

export function addCallsCommand(program: Command): void {
  const calls = program
    .command('calls')
    .description('List live calls, end one, watch one, or show for how many there is room.');
  calls
    .command('list')
    .description('List the live call sessions, the oldest first.')
    .option('--device <id>', 'only of this device', parseDeviceIdOption)
    .option('--limit <count>', 'at most so many', wholeNumberOption(1, listedMax), 100)
    .addHelpText('after', examples('calls list --device DOOR-1'))
    .action(inContext(listCalls));
  calls
    .command('end')
    .description(
      'End a call: the reason is sent to its device and its bridge, and its token becomes invalid.',
    )
    .argument('<session>', 'the session')
    .addOption(
      new Option('--reason <reason>', 'the reason, as in events')
        .choices(callEndReasons)
        .default('cancelled'),
    )
    .addHelpText('after', examples(`calls end ${session} --reason error`))
    .action(inContext(endCall));
  calls
    .command('watch')
    .description(
      'Print the address of a page that shows the video of the phone of a call beside the screen of the device, with sizes, ' +
        "rates and drops; and a plain link to the device's pictures. Each opens once, within a minute, and at most two " +
        'pictures of a call may be watched at once: the page shows two.',
    )
    .argument('[session]', 'the session (default: the only live call)')
    .addHelpText('after', examples('calls watch'))
    .action(inContext(watchCall));
  calls
    .command('capacity')
    .description(
      'Show the media processes: how busy their workers are, which share of them the calls take, and for how many more ' +
        'calls like them there is room.',
    )
    .addHelpText('after', examples('calls capacity'))
    .action(inContext(showCapacity));
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
  readonly session: string;
  readonly device_id: string;
  readonly reason: CallEndReason;
}

/** A link that opens once. */
interface LinkAnswer {
  readonly url: string;
  readonly expires_at: string;
}

async function listCalls(context: CommandContext, { device, limit }: ListOptions): Promise<void> {
  const query = new URLSearchParams({
    limit: String(limit),
    ...(device !== undefined && { device_id: device }),
  });
  const listing = await opsClient(context).ask<Listing>('/v1/calls', query);
  context.output.answer(listing, callsTable(listing.calls, context.clock.wallMs()));
  if (listing.more) context.output.remark('there are more: ask for them with --limit, or with --device');
}

interface Capacity {
  readonly processes: readonly MediaProcessJson[];
  readonly room: number;
}

async function showCapacity(context: CommandContext): Promise<void> {
  const capacity = await opsClient(context).ask<Capacity>('/v1/calls/capacity');
  context.output.answer(capacity, capacityTable(capacity.processes));
}

interface EndOptions {
  readonly reason: CallEndReason;
}

async function endCall(context: CommandContext, session: string, { reason }: EndOptions): Promise<void> {
  const answer = await opsClient(context).change<EndAnswer>('/v1/calls/end', { session, reason });
  context.output.answer(answer, `ended the call of ${showable(answer.device_id)} as ${answer.reason}`);
}

async function watchCall(context: CommandContext, named: string | undefined): Promise<void> {
  const session = named ?? (await findOnlyCall(context));
  const ops = opsClient(context);
  const page = await ops.change<LinkAnswer>('/v1/calls/watch', { session });
  const picture = await ops.change<LinkAnswer>('/v1/calls/ticket', { session });
  context.output.answer({ page, picture }, `page     ${page.url}\npicture  ${picture.url}`);
  context.output.remark(`each opens once, until ${page.expires_at}`);
}

async function findOnlyCall(context: CommandContext): Promise<string> {
  const { calls } = await opsClient(context).ask<Listing>('/v1/calls', new URLSearchParams({ limit: '2' }));
  const [only, another] = calls;
  if (only === undefined)
    throw new CommandError('no call is live', `hold one: ${reveilleCommand('simulate --call DEVICE')}`);
  if (another !== undefined)
    throw usageError('several calls are live', `name one of them: ${reveilleCommand('calls list')}`);
  return only.session;
}
