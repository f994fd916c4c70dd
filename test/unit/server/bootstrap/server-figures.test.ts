import assert from 'node:assert/strict';
import { statfsSync } from 'node:fs';
import { test } from 'node:test';
import { fail, succeed } from '../../../../src/lib/result.ts';
import { liveFigures } from '../../../../src/server/bootstrap/server-figures.ts';
import { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';
import type { WebhookFigures } from '../../../../src/telemetry/gauges.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { temporaryStore } from '../../../support/temporary-store.ts';

const backlog: WebhookFigures = {
  hooks: { on: 1, 'open-circuit': 0, off: 0 },
  backlog: { behind: 2, failed: 0, parked: 0 },
  oldestS: 3,
};

test('the gauges of a scrape query the webhook thread once, and do not wait if it hangs', async (t) => {
  const store = temporaryStore(t);
  const clock = new DrivenClock();
  const hangs = new Promise<never>(() => undefined);
  let asked = 0;
  let answer: Promise<ReturnType<typeof succeed<WebhookFigures>>> = Promise.resolve(succeed(backlog));
  const figures = liveFigures({
    certificates: { expiriesS: () => ({}) },
    clock,
    store,
    registry: new RegistryStore(store.registry),
    webhookBacklog: () => {
      asked += 1;
      return answer;
    },
  });
  assert.deepEqual(await Promise.all([figures.webhooks(), figures.webhooks()]), [backlog, backlog]);
  assert.equal(asked, 1);
  answer = hangs;
  const waiting = figures.webhooks();
  clock.advance(1000);
  assert.equal(await waiting, null);
  answer = Promise.resolve(succeed(backlog));
  assert.deepEqual(await figures.webhooks(), backlog);
});

test('a missing file of the store has no size, and the disk is that of the data directory', async (t) => {
  const store = temporaryStore(t);
  const figures = liveFigures({
    certificates: { expiriesS: () => ({}) },
    clock: new DrivenClock(),
    store,
    registry: new RegistryStore(store.registry),
    webhookBacklog: async () => fail('unavailable'),
  });
  assert.deepEqual(Object.keys(await figures.storeBytes()), ['registry', 'state']);
  const { blocks, bsize } = statfsSync(store.directory);
  assert.equal((await figures.disk())?.bytes, blocks * bsize);
  assert.equal(await figures.webhooks(), null);
});
