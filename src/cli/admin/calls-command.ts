/** `reveille calls …`: the call sessions that live on a running server. */
import { Option, type Command } from 'commander';
import { callEndReasons, type CallEndReason } from '../../model/call.ts';
import { endCall, listCalls, watchCall, type ListCallsOptions } from './calls-actions.ts';
import { addExamples, contextOf } from '../shell/command-context.ts';
import { parseDeviceIdOption, wholeNumberOption } from '../shell/option-values.ts';

/** What the server lists at most. */
const listedMax = 1000;
const session = '01a2b3c4-0000-7000-8000-000000000003';

export function addCallsCommand(program: Command): void {
  const calls = program.command('calls').description('List live calls, end one, or watch one.');
  addExamples(
    calls,
    ['calls list', 'who is in a call, or may be soon'],
    [`calls watch ${session}`, 'a page that shows what the phone sends beside what the device is shown'],
    [`calls end ${session}`, 'hang up for both'],
  );
  addList(calls);
  addEnd(calls);
  addWatch(calls);
}

function addList(calls: Command): void {
  const command = calls
    .command('list')
    .description('List the live call sessions of the running server, the oldest first.')
    .option('--device <id>', 'only of this device', parseDeviceIdOption)
    .option('--limit <count>', 'at most so many', wholeNumberOption(1, listedMax), 100)
    .action((options: ListCallsOptions, self: Command) => listCalls(contextOf(self), options));
  addExamples(
    command,
    ['calls list', 'all of them'],
    ['calls list --device DOOR-1 --json', 'of one device, for machines'],
  );
}

function addEnd(calls: Command): void {
  const command = calls
    .command('end')
    .description(
      'End a call: its device and its bridge are told why and sent away, its token is good no more.',
    )
    .argument('<session>', 'the session')
    .addOption(
      new Option('--reason <reason>', 'why, as events tell it').choices(callEndReasons).default('cancelled'),
    )
    .action((of: string, { reason }: { reason: CallEndReason }, self: Command) =>
      endCall(contextOf(self), of, reason),
    );
  addExamples(
    command,
    [`calls end ${session}`, 'as cancelled'],
    [`calls end ${session} --reason error --json`, 'as gone wrong, for machines'],
  );
}

function addWatch(calls: Command): void {
  const command = calls
    .command('watch')
    .description(
      'Print the address of a page that shows what the phone of a call sends beside what the device is shown, with sizes, ' +
        'rates and drops; and a plain link to the pictures of the device. Each opens once, within a minute, and at most ' +
        'two pictures of a call may be watched at once: the page shows two.',
    )
    .argument('<session>', 'the session')
    .action((of: string, _options: object, self: Command) => watchCall(contextOf(self), of));
  addExamples(
    command,
    [`calls watch ${session}`, 'open the page in a browser'],
    [`calls watch ${session} --json`, 'with when they expire, for machines'],
  );
}
