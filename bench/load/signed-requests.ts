/**
 * Signed requests as bytes, made before they are needed: nothing is signed or put together while the clock runs.
 * Every request is another one: no two have the same device and date, so no server can answer from a cache of
 * signatures. The very same bytes go to peers, which ignore what they do not know.
 */
import { signRequest } from '../../src/tgv1/sign-request.ts';
import { backendCredential, deviceIdOf } from './population.ts';

/** Requests to be sent in their order, from the first again when all were sent. */
export interface RequestSet {
  readonly bytes: readonly Buffer[];
  /** The number of the device that the request of the same place is about. */
  readonly devices: readonly number[];
  /** What a good answer has in it, beside `"code":0`. */
  readonly marks: readonly string[];
  readonly goodStatus: number;
}

/** Dates lie this far apart, from a little before now: all are within the window of 300 s while a run lasts. */
const dateStepMs = 20_000;
const firstDateMs = -10_000;

/** One query for each device and date, all devices of a date first. */
export function signQueries(devices: number, dates: number): RequestSet {
  const path = '/v1/device/connectivity';
  return buildSet(devices, devices * dates, 200, (device, atMs) => {
    const rawQuery = `device_id=${deviceIdOf(device)}`;
    const headers = signRequest({
      credential: backendCredential,
      method: 'GET',
      path,
      rawQuery,
      body: null,
      headerSet: 'long',
      atMs,
    });
    return {
      head: `GET ${path}?${rawQuery} HTTP/1.1`,
      headers,
      body: '',
      mark: `"device_id":"${deviceIdOf(device)}"`,
    };
  });
}

/** `count` wakeups over the devices in turn, each with an X-Request-ID of its own. */
export function signWakeups(devices: number, count: number): RequestSet {
  const path = '/v1/device/wakeup-request';
  return buildSet(devices, count, 202, (device, atMs, index) => {
    const body = JSON.stringify({ device_id: deviceIdOf(device) });
    const headers = signRequest({
      credential: backendCredential,
      method: 'POST',
      path,
      rawQuery: '',
      body: Buffer.from(body),
      headerSet: 'long',
      atMs,
    });
    headers['X-Request-ID'] = `bench-${process.pid}-${index}`;
    return { head: `POST ${path} HTTP/1.1`, headers, body, mark: '"code":0' };
  });
}

interface RequestParts {
  readonly head: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly mark: string;
}

function buildSet(
  devices: number,
  count: number,
  goodStatus: number,
  build: (device: number, atMs: number, index: number) => RequestParts,
): RequestSet {
  const startMs = Date.now() + firstDateMs;
  const order = Array.from({ length: count }, (_, index) => index % devices);
  const marks: string[] = [];
  const bytes = order.map((device, index) => {
    const atMs = startMs + Math.floor(index / devices) * dateStepMs;
    const { head, headers, body, mark } = build(device, atMs, index);
    marks.push(mark);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return Buffer.from(`${head}\r\nHost: 127.0.0.1\r\n${lines.join('')}\r\n${body}`, 'latin1');
  });
  return { bytes, devices: order, marks, goodStatus };
}
