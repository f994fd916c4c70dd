/**
 * `reveille status`: what the running server knows of one device; or the connections of any number of them, as the signed API
 * answers a batch.
 */
import type { Command } from 'commander';
import type { DeviceStatus } from '../../gateways/admin/device-routes.ts';
import { opsClient } from '../admin/running-server.ts';
import { examples, type CommandContext, inContext } from '../shell/command-context.ts';
import { parseDeviceIdOption } from '../shell/option-values.ts';
import { addApiOptions, answerResult, withApi, type ApiOptions } from './api-access.ts';
import { connectionsText, statusJson, statusText } from './status-view.ts';

export function addStatusCommand(program: Command): void {
  const command = program
    .command('status')
    .description(
      'Show whether a device is online or asleep, since when, and its latest transitions. With several devices, or with ' +
        '--url or a credential, show their connections from the API; exit 1 unless all are found.',
    )
    .argument('<device...>', 'device ids', parseDeviceIds)
    .addHelpText('after', examples('status DOOR-1', 'status DOOR-1 DOOR-2 DOOR-3'))
    .action(inContext(show));
  addApiOptions(command);
}

function parseDeviceIds(text: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, parseDeviceIdOption(text)];
}

function show(context: CommandContext, ids: readonly string[], options: ApiOptions): Promise<void> {
  const [only = '', ...more] = ids;
  const asksApi = more.length > 0 || Object.keys(options).length > 0;
  return asksApi ? showConnections(context, ids, options) : showStatus(context, only);
}

async function showConnections(
  context: CommandContext,
  ids: readonly string[],
  options: ApiOptions,
): Promise<void> {
  const [deviceId = null] = ids;
  await withApi(context, options, { permissions: ['connectivity:read'], deviceId }, async (api) => {
    const result = await api.connectivityOf(ids);
    if (!result.ok) return answerResult(context, result, `refused: ${result.message} (${result.code})`);
    const { devices } = result.data;
    answerResult(context, result, connectionsText(devices, context.clock.wallMs()));
    if (devices.some(({ code }) => code !== 0)) process.exitCode = 1;
  });
}

async function showStatus(context: CommandContext, id: string): Promise<void> {
  const query = new URLSearchParams({ device_id: id });
  const status = await opsClient(context).ask<DeviceStatus>('/v1/device/status', query);
  context.output.answer(statusJson(status), statusText(status));
}
