/**
 * `reveille status`: what the running server knows of one device; or the connections of any number of them, as the signed API
 * answers a batch; or the processes of the server.
 */
import type { Command } from 'commander';
import type { DeviceStatus } from '../../gateways/admin/device-routes.ts';
import { opsClient } from '../admin/running-server.ts';
import type { SiteJson } from '../../server/site/site-route.ts';
import { usageError } from '../shell/command-error.ts';
import { alignColumns, type Cell } from '../shell/output.ts';
import { examples, type CommandContext, inContext } from '../shell/command-context.ts';
import { parseDeviceIdOption } from '../shell/option-values.ts';
import { addApiOptions, answerResult, withApi, type ApiOptions } from './api-access.ts';
import { connectionsText, statusJson, statusText } from './status-view.ts';

export function addStatusCommand(program: Command): void {
  const command = program
    .command('status')
    .description(
      'Show whether a device is online or asleep, since when, and its latest transitions. With several devices, or with ' +
        '--url or a credential, show their connections from the API; exit 1 unless all are found. With --site, show the processes ' +
        'of the server; exit 1 unless all are up.',
    )
    .argument('[device...]', 'device ids', parseDeviceIds)
    .option('--site', 'show the processes of the server in place of a device: core, edges, media processes')
    .addHelpText('after', examples('status DOOR-1', 'status DOOR-1 DOOR-2 DOOR-3', 'status --site'))
    .action(inContext(show));
  addApiOptions(command);
}

function parseDeviceIds(text: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, parseDeviceIdOption(text)];
}

interface StatusOptions extends ApiOptions {
  readonly site?: true;
}

function show(
  context: CommandContext,
  ids: readonly string[] | undefined = [],
  { site, ...options }: StatusOptions,
): Promise<void> {
  if ((site === true) === ids.length > 0) throw usageError('give device ids or --site');
  if (site === true) return showSite(context);
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

async function showSite(context: CommandContext): Promise<void> {
  const site = await opsClient(context).ask<SiteJson>('/v1/site');
  context.output.answer(site, alignColumns([siteHead, ...site.processes.map(siteRow)]));
  if (site.processes.some(({ state }) => state !== 'up')) process.exitCode = 1;
}

const siteHead = ['process', 'state', 'pid', 'release', 'sleep', 'link ms', 'restarts'];

/** A dash stands for what is not known. */
function siteRow(row: SiteJson['processes'][number]): Cell[] {
  const { name, state, pid, release, sleep_sessions: sessions, link_delay_ms: delayMs, restarts } = row;
  return [name, state, pid, release, sessions, delayMs?.toFixed(1) ?? null, restarts];
}
