/**
 * Signed requests as bytes, made before they are needed: nothing is signed or put together while the clock runs.
 * Every request is another one: no two have the same device and date, so no server can answer from a cache of
 * signatures. The very same bytes go to peers, which ignore what they do not know.
 */
import { batchDevicesMax } from '../../src/model/limits.ts';
import { signRequest } from '../../src/protocol/tgv1/sign-request.ts';
import { backendCredential, deviceIdOf } from './population.ts';

/** Requests to be sent in their order, from the first again when all were sent. */
export interface RequestSet {
  readonly bytes: readonly Buffer[];
  /** The number of the device that the request of the same place is about. */
  readonly devices: readonly number[];
  /** Text that a good answer contains, besides `"code":0`. */
  readonly marks: readonly string[];
  readonly goodStatus: number;
}

/** Dates lie this far apart, from a little before now: all are within the window of 300 s while a run lasts. */
const dateStepMs = 20_000;
const firstDateMs = -10_000;
/** Each set has a second of the steps to itself: no two of up to 20 share a date, and with it a signature. */
const setStepMs = 1000;
let setsMade = 0;

/** Kinds of requests about a device; each has its own mark of a good answer. */
export type AskedKind = 'connectivity' | 'call-status' | 'credentials';

/** Devices of each request of a batch set: as many as there may be. */
export const devicesOfBatch = batchDevicesMax;

/** One request of the kind for each device and date, all devices of a date first. */
export function signAsked(kind: AskedKind, devices: number, dates: number): RequestSet {
  return buildSet(range(devices), devices * dates, 200, askedBuilders[kind]);
}

/**
 * Batches of connectivity queries: as many for each date as it takes to ask for each device once; those of another date begin
 * at another device.
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

/** A room of its own for each: every one of them begins a session. Lengths are those of real notifications. */
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

let wakeupsSigned = 0;

/** `count` wakeups over the devices in turn, each with an X-Request-ID of its own. */
export function signWakeups(devices: number, count: number): RequestSet {
  const path = '/v1/device/wakeup-request';
  return buildSet(range(devices), count, 202, (device, atMs) => {
    const body = JSON.stringify({ device_id: deviceIdOf(device) });
    const request = { credential: backendCredential, method: 'POST', path, rawQuery: '', atMs };
    const headers = signRequest({ ...request, body: Buffer.from(body), headerSet: 'long' });
    headers['X-Request-ID'] = `bench-${process.pid}-${(wakeupsSigned += 1)}`;
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
