/**
 * Signed requests as bytes, prepared before the measurement. All requests are distinct: no two have the same device and date, so
 * that no server can answer from a cache of signatures. Peers receive the same bytes, and ignore unknown headers.
 */
import { randomUUID } from 'node:crypto';
import { batchDevicesMax } from '../../src/model/limits.ts';
import { signRequest } from '../../src/protocol/tgv1/sign-request.ts';
import { backendCredential, deviceIdOf } from './population.ts';

export interface RequestSet {
  readonly bytes: readonly Buffer[];
  readonly devices: readonly number[];
  /** Text that a correct response contains, in addition to `"code":0`. */
  readonly marks: readonly string[];
  readonly goodStatus: number;
}

/** Distance of the dates, which start shortly before now: all stay within the window of 300 s during a run. */
const dateStepMs = 20_000;
const firstDateMs = -10_000;
/** Offset of the dates of each set, so that up to 20 sets share no date and no signature. */
const setStepMs = 1000;
let setsMade = 0;

/** Kinds of requests about a device, each with its own mark of a correct response. */
export type AskedKind = 'connectivity' | 'call-status' | 'credentials';

/** Devices per batch request: the maximum. */
export const devicesOfBatch = batchDevicesMax;

/** Signs one request per device and date, ordered by date. */
export function signAsked(kind: AskedKind, devices: number, dates: number): RequestSet {
  return buildSet(range(devices), devices * dates, 200, askedBuilders[kind]);
}

/**
 * Signs batches of connectivity queries: enough per date to query each device once; the batches of another date start at another
 * device.
 */
export function signBatches(devices: number, dates: number): RequestSet {
  const path = '/v1/devices/connectivity';
  const firsts = range(Math.ceil(devices / devicesOfBatch)).map((batch) => batch * devicesOfBatch);
  return buildSet(firsts, firsts.length * dates, 200, (first, atMs, index) => {
    const ids = range(devicesOfBatch).map((place) => deviceIdOf((first + index + place) % devices));
    const body = JSON.stringify({ device_ids: ids });
    const request = { credential: backendCredential, method: 'POST', path, rawQuery: '', atMs };
    const headers = signRequest({ ...request, body: Buffer.from(body), headerSet: 'long' });
    const mark = `"device_id":"${ids.at(-1)}","code":0`;
    return { head: `POST ${path} HTTP/1.1`, headers, body, mark };
  });
}

type Builder = (device: number, atMs: number, index: number) => RequestDeps;

const askedBuilders: Readonly<Record<AskedKind, Builder>> = {
  connectivity: queryBuilder('/v1/device/connectivity', (device) => `"device_id":"${deviceIdOf(device)}"`),
  'call-status': queryBuilder('/v1/device/msgvoip-call-status', () => '"in_call":'),
  credentials: buildCredentialsRequest,
};

function queryBuilder(path: string, markOf: (device: number) => string): Builder {
  return (device, atMs) => {
    const rawQuery = `device_id=${deviceIdOf(device)}`;
    const request = { credential: backendCredential, method: 'GET', path, rawQuery, body: null, atMs };
    const headers = signRequest({ ...request, headerSet: 'long' });
    return { head: `GET ${path}?${rawQuery} HTTP/1.1`, headers, body: '', mark: markOf(device) };
  };
}

/** A new room per request, so that each starts a session. Field lengths are those of real notifications. */
function buildCredentialsRequest(device: number, atMs: number, index: number): RequestDeps {
  const deviceId = deviceIdOf(device);
  const path = '/v1/token/msgvoip';
  const body = JSON.stringify({
    device_id: deviceId,
    msg_session_key: `a session key of a usual length, ${index}`.padEnd(88, '='),
    msg_room_id: `room-of-a-usual-length-${index}`,
    msg_session_token: `a server token of a usual length, ${index}`.padEnd(128, '='),
    msg_app_id: 'wx0123456789abcdef',
    msg_model_id: 'model_of_a_usual_length',
    down_video_mt: 'mjpeg',
    screen_width: 160,
    screen_height: 100,
    video_res_mode: 'fit_screen',
    audio_rate: 8000,
    audio_channels: 1,
  });
  const request = { credential: backendCredential, method: 'POST', path, rawQuery: '', atMs };
  const headers = signRequest({ ...request, body: Buffer.from(body), headerSet: 'long' });
  return { head: `POST ${path} HTTP/1.1`, headers, body, mark: `x_device_id=${deviceId}` };
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** Signs `count` wakeups for the devices in turn, each with an X-Request-ID of its own, a UUID as callers send it. */
export function signWakeups(devices: number, count: number): RequestSet {
  const path = '/v1/device/wakeup-request';
  return buildSet(range(devices), count, 202, (device, atMs) => {
    const body = JSON.stringify({ device_id: deviceIdOf(device) });
    const request = { credential: backendCredential, method: 'POST', path, rawQuery: '', atMs };
    const headers = signRequest({ ...request, body: Buffer.from(body), headerSet: 'long' });
    headers['X-Request-ID'] = randomUUID();
    return { head: `POST ${path} HTTP/1.1`, headers, body, mark: '"code":0' };
  });
}

interface RequestDeps {
  readonly head: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly mark: string;
}

function buildSet(
  devices: readonly number[],
  count: number,
  goodStatus: number,
  build: (device: number, atMs: number, index: number) => RequestDeps,
): RequestSet {
  const firstMs = Date.now() + firstDateMs;
  const startMs = firstMs - (firstMs % dateStepMs) + ((setsMade * setStepMs) % dateStepMs);
  setsMade += 1;
  const order = Array.from({ length: count }, (_, index) => devices[index % devices.length] ?? 0);
  const marks: string[] = [];
  const bytes = order.map((device, index) => {
    const atMs = startMs + Math.floor(index / devices.length) * dateStepMs;
    const { head, headers, body, mark } = build(device, atMs, index);
    marks.push(mark);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return Buffer.from(`${head}\r\nHost: 127.0.0.1\r\n${lines.join('')}\r\n${body}`, 'latin1');
  });
  return { bytes, devices: order, marks, goodStatus };
}
