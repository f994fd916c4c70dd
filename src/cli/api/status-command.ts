/** `reveille status`: what is known of one device, from the running server or from the store it left. */
import type { Command } from 'commander';
import type { DeviceStatus } from '../../gateways/admin/device-status.ts';
import { adminClient, advised } from '../admin/admin-client.ts';
import { adviceToAdd } from '../admin/device-command.ts';
import { addExamples, contextOf, type CommandContext } from '../shell/command-context.ts';
import { parseDeviceIdOption } from '../shell/option-values.ts';
import { statusJson, statusText } from './status-view.ts';

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

async function showStatus(context: CommandContext, id: string): Promise<void> {
  const client = adminClient(context);
  const query = new URLSearchParams({ device_id: id });
  const status = await advised(adviceToAdd(id), () => client.ask<DeviceStatus>('/v1/device/status', query));
  const source = client.isLive ? 'server' : 'store';
  context.output.answer(statusJson(status, source), statusText(status, source));
}
