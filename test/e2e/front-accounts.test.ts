/** Metrics and request log count the same requests alike with and without fronts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { bodyBytesMax } from '../../src/model/limits.ts';
import type { ApiCall } from '../support/api-client.ts';
import { hangMsMax } from '../support/hang-limit.ts';
import { startTestServer, testCredentials, type TestServer } from '../support/test-server.ts';

const { reader, waker } = testCredentials;
const stranger = { ...reader, accessKeyId: 'AKstranger' };
const forger = { ...reader, secretKey: 'another secret' };
const asleep = 'SLEEPING01';
const longPoll = { path: '/v1/events', query: 'after=latest&wait=1' } as const;
const wakeup = { method: 'POST', path: '/v1/device/wakeup-request' } as const;
const named = { ...wakeup, body: JSON.stringify({ device_id: asleep, request_id: 'ring-1' }) };

const requests: readonly ApiCall[] = [
  { query: `device_id=${asleep}` },
  { query: 'device_id=UNKNOWN01' },
  { query: 'device_id=' },
  { query: `device_id=${asleep}`, credential: stranger },
  { query: `device_id=${asleep}`, credential: forger },
  { query: `device_id=${asleep}`, credential: waker },
  { query: `device_id=${asleep}`, atMs: 0 },
  { path: '/v1/nothing' },
  { method: 'DELETE' },
  { ...wakeup, body: JSON.stringify({ device_id: asleep }) },
  { ...wakeup, body: JSON.stringify({ device_id: 'TESTDEVICE01' }) },
  { ...wakeup, body: JSON.stringify({ device_id: asleep, custom_data: 7 }) },
  { ...wakeup, body: '{' },
  { ...named, credential: reader },
  { ...named, contentType: 'text/plain' },
  { ...wakeup, body: 'x'.repeat(bodyBytesMax + 1) },
  { path: '/v1/devices', query: 'limit=7' },
  longPoll,
];

interface Line {
  readonly message: string;
  readonly fields: { readonly ms: number; readonly request_id: string };
}

const counted = /^reveille_(?:http_\w+_count|auth_failures_total|wakeups_total)\b.*$/gm;

async function metricsOf({ ports }: TestServer): Promise<string> {
  return (await fetch(`http://127.0.0.1:${ports.ops}/metrics`)).text();
}

async function countsOf(server: TestServer): Promise<readonly string[]> {
  return ((await metricsOf(server)).match(counted) ?? []).sort();
}

const wakeupCommitted = /^reveille_events_total\{type="device\.wakeup\.accepted"\} 1$/m;

/** A wakeup is answered before its event is committed, which would end a later long poll at once. */
async function wakeupIsCommitted(server: TestServer): Promise<void> {
  const startedMs = performance.now();
  while (!wakeupCommitted.test(await metricsOf(server))) {
    assert.ok(performance.now() - startedMs < hangMsMax, 'the event of the wakeup is committed');
    await wait(10);
  }
}

function linesOf({ log }: TestServer): readonly Line[] {
  return log.lines.filter(({ message }) => / (?:answered|refused)$/.test(message)) as unknown as Line[];
}

/** Refusals are counted a turn after their answers. */
async function accounted(server: TestServer): Promise<void> {
  const startedMs = performance.now();
  const total = (counts: readonly string[]): number =>
    counts
      .filter((count) => count.startsWith('reveille_http'))
      .reduce((sum, count) => sum + Number(count.split(' ')[1]), 0);
  while (total(await countsOf(server)) < requests.length) {
    assert.ok(performance.now() - startedMs < hangMsMax, 'every request is accounted');
    await wait(10);
  }
}

/** Compares `ms` of each line with the time measured by the caller, and omits it. */
async function accountWith(fronts: number): Promise<object> {
  const overrides = [`api.fronts=${fronts}`, 'log.requests=all'];
  const server = await startTestServer({ overrides });
  try {
    const module = await server.module(asleep);
    const answers = [];
    let longestMs = 0;
    let pollMs = 0;
    for (const request of requests) {
      if (request === longPoll) await wakeupIsCommitted(server);
      const startedMs = performance.now();
      const { status, json } = await server.api.call(request);
      const tookMs = performance.now() - startedMs;
      longestMs = Math.max(longestMs, tookMs);
      if (request === longPoll) pollMs = tookMs;
      answers.push([status, json.code]);
    }
    await accounted(server);
    module.close();
    const lines = linesOf(server).map(({ message, fields: { ms, ...fields } }) => {
      assert.ok(ms >= 0 && ms <= longestMs + roundingMs, `${message}: ${ms} ms of ${longestMs}`);
      return { ms, line: JSON.stringify({ message, ...fields }, withoutId).replace(serverTime, '') };
    });
    const poll = lines.find(({ line }) => line.includes('"route":"events"'));
    assert.ok(poll !== undefined, 'the long poll has a line');
    assert.ok(poll.ms >= waitedMsMin && poll.ms <= pollMs + roundingMs, `${poll.ms} ms of ${pollMs}`);
    const counts = await countsOf(server);
    return { answers, counts, lines: lines.map(({ line }) => line).sort() };
  } finally {
    await server.stop();
  }
}

function withoutId(key: string, value: unknown): unknown {
  return key === 'request_id' ? undefined : value;
}

const serverTime = /\d{8}T\d{6}Z/;
/** Allowed difference between a line and the measured time, milliseconds. */
const roundingMs = 2;
/** Timers count from the start of a turn, so a busy process may end the wait of 1 s early. */
const waitedMsMin = 500;

test('metrics and request log are the same with and without fronts', async () => {
  const without = (await accountWith(0)) as { readonly counts: readonly string[] };
  assert.ok(without.counts.length >= requests.length);
  assert.deepEqual(await accountWith(2), without);
});
