/** `reveille status`: what is known of one device. */
import type { Command } from 'commander';
import { addExamples, contextOf } from '../shell/command-context.ts';
import { parseDeviceIdOption } from '../shell/option-values.ts';
import { showStatus } from './status-action.ts';

export function addStatusCommand(program: Command): void {
  const command = program
    .command('status')
    .description('Show whether a device is online or asleep, since when, and what happened to it lately.')
    .argument('<device>', 'device id', parseDeviceIdOption)
    .action((device: string, _options: object, self: Command) => showStatus(contextOf(self), device));
  addExamples(
    command,
    ['status DOOR-1', 'both connections, their times and ages, and the latest transitions with reasons'],
    ['status DOOR-1 --json', 'for machines: times in Unix seconds and as ISO 8601'],
  );
}
