/**
 * A memory map that cannot grow, by a limit on the address space of a real server process: LMDB would end the process. Source:
 * docs/alerts.md, When the store refuses writes.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { EventReader } from '../support/event-reader.ts';
import { limitProcess, noPrlimit } from '../support/process-limit.ts';
import { wake } from '../support/site-server.ts';
import { startTestSite } from '../support/test-site.ts';

const mebibyte = 2 ** 20;
/** Less than the store requires, and enough for the rest of the process. */
const leftBytes = 224 * mebibyte;

test(
  'a store whose map cannot grow refuses writes, ends no session, and recovers by itself',
  { skip: noPrlimit },
  async (t) => {
    const site = await startTestSite(t);
    const asleep = await site.module('SLEEPING01');
    const usedKibibytes = /^VmSize:\s+(\d+)/m.exec(readFileSync(`/proc/${site.pid}/status`, 'latin1'))?.[1];
    const limit = (bytes: number | 'unlimited'): void => limitProcess(site.pid, 'as', bytes);
    limit(Number(usedKibibytes) * 1024 + leftBytes);
    const { command } = site.server;
    const isRefused = (): boolean => command.lines.some((line) => line.includes('store: refuses writes'));
    let woken = 0;
    // The process caches for a second that there is no limit.
    for (; !isRefused(); woken += 1) {
      assert.equal((await wake(site.api, 'SLEEPING01')).status, 202);
      await asleep.nextPacket();
    }
    const refused = await command.logged<{ err: { message: string }; advice: string }>(
      'store: refuses writes; retrying every second',
    );
    assert.match(refused.err.message, /memory map is full/);
    assert.match(refused.advice, /LimitAS/);
    assert.equal((await site.readiness()).text, '{"ready":false,"reasons":["store"]}');

    limit('unlimited');
    await command.logged('store: accepts writes again');
    assert.equal((await site.readiness()).status, 200);
    const reader = new EventReader(site.api);
    for (let told = 0; told < woken;)
      told += (await reader.rest()).filter(({ type }) => type === 'device.wakeup.accepted').length;
  },
);
