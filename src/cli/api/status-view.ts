/** The output of `reveille status`, for people and for machines. */
import type { ConnectionStatus, DeviceStatus } from '../../gateways/admin/device-routes.ts';
import type { ConnectionTimes, ConnectivityEntry } from '../../client/reveille-client.ts';
import { ageInWords, momentInWords, formatMoment } from '../shell/option-values.ts';
import { tellingPart } from './events-text.ts';
import { alignColumns } from '../shell/output.ts';
import { showable } from '../../lib/showable-text.ts';

/** A line for each device of a batch. */
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

/** By its latest login, heartbeat or end, whichever came last. */
function lastSeen(name: string, times: ConnectionTimes, nowMs: number): string {
  const latest = Math.max(times.last_login_at ?? 0, times.last_heartbeat_at ?? 0, times.last_offline_at ?? 0);
  if (latest === 0) return `${name}: never seen`;
  const what = latest === times.last_offline_at ? 'ended' : 'last seen';
  return `${name}: ${what} ${momentOf(latest, nowMs)}`;
}

function momentOf(unixSeconds: number | null, nowMs: number): string {
  return unixSeconds === null ? 'unknown' : withAge(unixSeconds, nowMs);
}

/** Every time is in Unix seconds, and beside it as ISO 8601. */
export function statusJson(status: DeviceStatus): object {
  const { now_ms: nowMs, device, signal, sleep, transitions } = status;
  return {
    ...withIso('now', Math.floor(nowMs / 1000)),
    device: { ...device, expires_at_iso: isoOf(device.expires_at) },
    signal: { is_online: signal.state === 'open', ...connectionJson(signal) },
    sleep: { is_asleep: sleep.state === 'open', ...connectionJson(sleep) },
    transitions: transitions.map((event) => ({
      ...event,
      at_s: Math.floor(Date.parse(event.at) / 1000),
    })),
  };
}

function connectionJson(connection: ConnectionStatus): object {
  const { state, session, epoch, node, reason } = connection;
  return {
    state,
    session,
    epoch,
    node,
    reason,
    ...withIso('since', sinceOf(connection)),
    ...withIso('last_login_at', connection.last_login_at),
    ...withIso('last_heartbeat_at', connection.last_heartbeat_at),
    ...withIso('last_offline_at', connection.last_offline_at),
  };
}

function withIso(key: string, unixSeconds: number | null): object {
  return { [key]: unixSeconds, [`${key}_iso`]: isoOf(unixSeconds) };
}

function isoOf(unixSeconds: number | null): string | null {
  return unixSeconds === null ? null : formatMoment(unixSeconds, '');
}

/** The beginning of the connection's present state, in Unix seconds. */
function sinceOf({ state, last_login_at, last_offline_at }: ConnectionStatus): number | null {
  return state === 'closed' ? last_offline_at : last_login_at;
}

export function statusText(status: DeviceStatus): string {
  const { now_ms: nowMs, device, signal, sleep, transitions } = status;
  const expires = device.expires_at === null ? 'never' : withAge(device.expires_at, nowMs, momentInWords);
  const registry = [
    ['device', showable(device.device_id)],
    ['product', device.product_id],
    ['expires', device.expired ? `${expires}: it is refused` : expires],
    ['disabled', device.disabled ? 'yes: it is answered like one that does not exist' : 'no'],
  ];
  const parts = [
    alignColumns([
      ...registry,
      ...connectionRows('signal', 'online', signal, nowMs),
      ...connectionRows('sleep', 'asleep', sleep, nowMs),
    ]),
    transitions.length === 0
      ? 'no transitions are kept'
      : `latest transitions, newest first\n${transitionLines(status)}`,
  ];
  return parts.join('\n\n');
}

/** The times of a connection. */
const latest = ['login', 'heartbeat', 'offline'] as const;

function connectionRows(
  name: string,
  openWord: string,
  connection: ConnectionStatus,
  nowMs: number,
): string[][] {
  const { state, session, epoch, node, reason } = connection;
  if (state === 'never') return [[name, 'never logged in']];
  const since = sinceOf(connection);
  const sinceText = since === null ? '' : ` since ${withAge(since, nowMs)}`;
  const words = {
    open: openWord,
    closed: reason === null ? 'offline' : `offline (${reason})`,
    lost: 'left open by a server that was killed; its next start ends it as node_lost;',
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

function transitionLines({ transitions, now_ms: nowMs }: DeviceStatus): string {
  const rows = transitions.map((event) => {
    const atMs = Date.parse(event.at);
    const what = event.type.replace(/^device\./, '').replace('.', ' ');
    return [`  ${new Date(atMs).toISOString()}`, ageInWords(atMs, nowMs), what, tellingPart(event)];
  });
  return alignColumns(rows);
}
