/** Changes of the registry and deaths of who makes them, one at a time: found by the simulation, and told here in order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chanceFrom } from '../support/seeded-random.ts';
import { seedProcess } from './seeded-process.ts';
import { Site, type Weather } from './site.ts';

const fair: Weather = {
  isFair: true,
  slowMs: 0,
  lossShare: 0,
  refusedCommits: 0,
  deadlyCommits: { state: 0, registry: 1, webhooks: 0 },
  stuckWrites: 0,
};

test('what a coordinator has changed and not lived to tell is known to its workers once another is there', async () => {
  const restore = seedProcess(1);
  try {
    const site = new Site(chanceFrom(1), {
      topology: 'processes',
      weather: { ...fair },
      canary: null,
      keepsAll: false,
    });
    const [coordinator, worker] = site.places;
    const [deviceId] = site.devices;
    assert.ok(coordinator !== undefined && worker !== undefined && deviceId !== undefined);
    site.startAll();
    await site.timeline.pass(2000);
    const known = (): boolean | undefined =>
      worker.life?.member.context.registry.findDevice(deviceId)?.disabled;
    assert.equal(known(), false, 'it is kept from now on');
    site.weather.isFair = false;
    void coordinator.life?.member.change(({ writer }) =>
      writer.update('device', deviceId, (device) => ({ ...device, disabled: true })),
    );
    await site.timeline.pass(20);
    assert.equal(coordinator.life, null, 'it has died with its commit');
    assert.equal(known(), false, 'nobody has told it');
    site.heal();
    await site.timeline.pass(10_000);
    assert.equal(known(), true);
    assert.equal(site.evidence.violation, null);
  } finally {
    restore();
  }
});
