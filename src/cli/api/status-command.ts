/**
 * `reveille status`: prints the state of one device, the connections of several (by the batch endpoint of the signed API), or the
 * processes of the server.
 */
import type { Command } from 'commander';
import type { DeviceStatus, ConnectionStatus } from '../../gateways/admin/device-routes.ts';
import { troubleCauses } from '../admin/refused-command.ts';
import { opsClient } from '../admin/running-server.ts';
import type { AlarmsAnswer } from '../../server/health/alarm-watch.ts';
import type { SiteJson } from '../../server/site/site-route.ts';
import { usageError } from '../shell/command-error.ts';
import { alignColumns, tableOf } from '../shell/output.ts';
import { newCommand, type CommandContext, inContext } from '../shell/command-context.ts';
import {
  ageInWords,
  counted,
  formatMoment,
  momentInWords,
  parseDeviceIdOption,
} from '../shell/option-values.ts';
import { addApiOptions, answerResult, withApi, type ApiOptions } from './api-access.ts';
import type { ConnectionTimes, ConnectivityEntry } from '../../client/reveille-client.ts';
import { summaryOf } from './events-text.ts';
import { showable } from '../../lib/showable-text.ts';

export function addStatusCommand(program: Command): void {
  const command = newCommand(
    program,
    'status',
    'Show whether a device is online or asleep, since when, its refused logins and its latest transitions. With several devices, or with ' +
      '--url or a credential, show their connections from the API; exit 1 unless all are found. With --site, show the processes ' +
      'of the server, the fronts of its API and the alarms that fire; exit 1 unless all are up.',
    'DOOR-1',
    'DOOR-1 DOOR-2 DOOR-3',
    '--site',
  )
    .argument('[device...]', 'device ids', parseDeviceIds)
    .option(
      '--site',
      'show the processes of the server instead of a device: core, edges, media processes, fronts',
    )
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
  if ((site === true) === ids.length > 0) throw usageError('give device ids, or --site');
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
  const status = await opsClient(context).ask<DeviceStatus>('/v1/device/status', { device_id: id });
  context.output.answer(status, statusText(status));
}

async function showSite(context: CommandContext): Promise<void> {
  const ops = opsClient(context);
  const [site, { health }] = await Promise.all([
    ops.ask<SiteJson>('/v1/site'),
    ops.ask<AlarmsAnswer>('/v1/alarms'),
  ]);
  const nowMs = context.clock.wallMs();
  const table = tableOf(site.processes, {
    process: ({ name }) => name,
    state: ({ state }) => state,
    pid: ({ pid }) => pid,
    release: ({ release }) => release,
    sleep: (row) => row.sleep_sessions,
    'link ms': (row) => row.link_delay_ms?.toFixed(1),
    restarts: ({ restarts }) => restarts,
    since: ({ since }) => (since === null ? null : ageInWords(Date.parse(since), nowMs)),
  });
  const fronts = tableOf(site.fronts, {
    front: ({ name }) => name,
    state: ({ state }) => state,
    connections: ({ connections }) => connections,
    waiting: (front) => front.waiting_calls,
    'at core': (front) => front.open_calls,
    busy: ({ utilization }) => `${Math.round(utilization * 100)} %`,
    restarts: ({ restarts }) => restarts,
    since: ({ since }) => ageInWords(Date.parse(since), nowMs),
  });
  const tables = site.fronts.length === 0 ? table : `${table}\n\n${fronts}`;
  context.output.answer({ ...site, health }, `${tables}\n\n${health}`);
  if ([...site.processes, ...site.fronts].some(({ state }) => state !== 'up')) process.exitCode = 1;
}

export function connectionsText(entries: readonly ConnectivityEntry[], nowMs: number): string {
  return alignColumns(entries.map((entry) => [entry.device_id, ...connectionWords(entry, nowMs)]));
}

function connectionWords({ code, message, data }: ConnectivityEntry, nowMs: number): readonly string[] {
  if (data === undefined) return [`${message} (${code})`, ''];
  const { signal, sleep } = data;
  return [
    signal.is_online
      ? `online since ${momentOf(signal.last_login_at, nowMs)}`
      : lastSeen('offline', signal, nowMs),
    lastSeen('sleep', sleep, nowMs),
  ];
}

/** By its latest login, heartbeat or end. */
function lastSeen(name: string, times: ConnectionTimes, nowMs: number): string {
  const latest = Math.max(times.last_login_at ?? 0, times.last_heartbeat_at ?? 0, times.last_offline_at ?? 0);
  if (latest === 0) return `${name}: never seen`;
  const what = latest === times.last_offline_at ? 'ended' : 'last seen';
  return `${name}: ${what} ${momentOf(latest, nowMs)}`;
}

function momentOf(unixSeconds: number | null, nowMs: number): string {
  return unixSeconds === null ? 'unknown' : withAge(unixSeconds, nowMs);
}

export function statusText(status: DeviceStatus): string {
  const { now_ms: nowMs, device, signal, sleep, refused, transitions } = status;
  const expires = device.expires_at === null ? 'never' : withAge(device.expires_at, nowMs, momentInWords);
  const registry = [
    ['device', showable(device.device_id)],
    ['product', device.product_id],
    ['expires', device.expired ? `${expires}: its logins are refused` : expires],
    ['disabled', device.disabled ? 'yes: it is treated as nonexistent' : 'no'],
  ];
  const parts = [
    alignColumns([
      ...registry,
      ...connectionRows('signal', 'online', signal, nowMs),
      ...connectionRows('sleep', 'asleep', sleep, nowMs),
    ]),
    ...(refused.length === 0 ? [] : [`refused logins, latest first\n${refusedLines(status)}`]),
    transitions.length === 0
      ? 'no transitions are recorded'
      : `latest transitions, newest first\n${transitionLines(status)}`,
  ];
  return parts.join('\n\n');
}

const latest = ['login', 'heartbeat', 'offline'] as const;

function connectionRows(
  name: string,
  openWord: string,
  connection: ConnectionStatus,
  nowMs: number,
): string[][] {
  const { state, session, epoch, node, reason } = connection;
  if (state === 'never') return [[name, 'never logged in']];
  const since = state === 'closed' ? connection.last_offline_at : connection.last_login_at;
  const sinceText = since === null ? '' : ` since ${withAge(since, nowMs)}`;
  const words = {
    open: openWord,
    closed: reason === null ? 'offline' : `offline (${reason})`,
    lost: 'left open when the server was killed; its next start ends it as node_lost;',
  };
  const place = node === null ? '' : ` on ${node}`;
  return [
    [name, words[state] + sinceText],
    ['  session', `${session ?? 'none'}, epoch ${epoch}${place}`],
    ...latest.map((what) => {
      const at = connection[`last_${what}_at`];
      return [`  last ${what}`, at === null ? 'never' : withAge(at, nowMs)];
    }),
  ];
}

function withAge(unixSeconds: number, nowMs: number, words = ageInWords): string {
  return `${formatMoment(unixSeconds, '')}  ${words(unixSeconds * 1000, nowMs)}`;
}

function refusedLines({ refused, now_ms: nowMs }: DeviceStatus): string {
  const rows = refused.map(({ connection, reason, count, addresses, last_at: at }) => {
    const atMs = Date.parse(at);
    const from = addresses.length === 0 ? '' : ` from ${addresses.toReversed().join(', ')}`;
    const age = ageInWords(atMs, nowMs);
    const times = counted(count, 'time') + from;
    return [`  ${new Date(atMs).toISOString()}`, age, connection, reason, times, troubleCauses[reason]];
  });
  return alignColumns(rows);
}

function transitionLines({ transitions, now_ms: nowMs }: DeviceStatus): string {
  const rows = transitions.map((event) => {
    const atMs = Date.parse(event.at);
    const what = event.type.replace(/^device\./, '').replace('.', ' ');
    return [`  ${new Date(atMs).toISOString()}`, ageInWords(atMs, nowMs), what, summaryOf(event)];
  });
  return alignColumns(rows);
}
