import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DeviceId, WakeupId } from '../../../../src/model/ids.ts';
import { UncommittedNames } from '../../../../src/storage/records/uncommitted-names.ts';

const devices = ['door', 'gate', 'bell'] as DeviceId[];
const name = 'a request id';

interface Wakeup {
  readonly id: WakeupId;
  readonly deviceId: DeviceId;
}

function latestOf(wakeups: readonly Wakeup[], deviceId: DeviceId | null): WakeupId | null {
  const ids = wakeups.filter((one) => deviceId === null || one.deviceId === deviceId).map(({ id }) => id);
  return ids.toSorted().at(-1) ?? null;
}

test('the latest uncommitted wakeup of a name and of its devices is found, and none once all are committed in order', () => {
  const device = fc.constantFrom(...devices);
  fc.assert(
    fc.property(fc.array(device, { minLength: 1 }), fc.nat(), (of, seed) => {
      const names = new UncommittedNames();
      const wakeups = of.map((deviceId, i) => ({ deviceId, id: `wakeup-${100 + i}` as WakeupId }));
      const arrived = wakeups.toSorted((one, other) => weight(one.id, seed) - weight(other.id, seed));
      for (const { deviceId, id } of arrived) names.add(name, deviceId, id);
      for (const deviceId of [...devices, null])
        assert.equal(names.find(name, deviceId), latestOf(wakeups, deviceId));
      assert.equal(names.find('another', null), null);
      for (const [place, { deviceId, id }] of arrived.entries()) {
        names.remove(name, deviceId, id);
        const left = arrived.slice(place + 1);
        const [latest] = left.toSorted((one, other) => (one.id < other.id ? 1 : -1));
        // One that is committed may still be named; the store has it.
        if (latest !== undefined && latest.id === latestOf(wakeups, null))
          assert.equal(names.find(name, null), latest.id);
      }
      for (const deviceId of [...devices, null]) assert.equal(names.find(name, deviceId), null);
    }),
  );
});

/** An order that depends on the seed. */
function weight(id: WakeupId, seed: number): number {
  return (Number(id.slice(-3)) * ((seed % 97) + 1)) % 101;
}
