/** Refused logins for operators: with the reason that the device does not receive, counted and bounded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RefusedFilter } from '../../../../src/core/devices/refused-logins.ts';
import type { DeviceId, ProductId } from '../../../../src/model/ids.ts';
import {
  refusalLogMs,
  refusedLoginsMax,
  refusedLoginsPerApplicationMax,
  unknownLoginsMax,
  unknownLoginsPerAddressMax,
} from '../../../../src/model/limits.ts';
import type { Device } from '../../../../src/model/registry.ts';
import { testApp, testDevice } from '../../../support/fakes.ts';
import { SessionScene, type AdmitOptions } from '../../../support/session-scene.ts';

const stranger = 'NOBODY' as DeviceId;

interface Cause {
  readonly reason: string;
  readonly answer: 'denied' | 'busy';
  readonly device?: Partial<Device>;
  readonly login?: AdmitOptions;
  readonly prepare?: (scene: SessionScene) => void;
}

const causes: readonly Cause[] = [
  { reason: 'unknown', answer: 'denied', login: { deviceId: stranger } },
  { reason: 'wrong_mac', answer: 'denied', login: { secret: 'another secret' } },
  { reason: 'disabled', answer: 'denied', device: { disabled: true } },
  { reason: 'expired', answer: 'denied', device: { expiresAt: 1 } },
  { reason: 'busy', answer: 'busy', login: { hasRoom: false } },
  { reason: 'busy', answer: 'busy', prepare: (scene) => void (scene.overloaded = true) },
  {
    reason: 'too_fast',
    answer: 'busy',
    prepare: (scene) => void (scene.loginRates = { acquire: () => false }),
  },
];

for (const kind of ['sleep', 'signal'] as const)
  for (const { reason, answer, device, login = {}, prepare } of causes)
    test(`a ${kind} login that is refused as ${reason} has a row with its reason, which the answer does not have`, () => {
      const scene = new SessionScene();
      if (device !== undefined) scene.registry.addDevice(device);
      prepare?.(scene);
      const atMs = scene.clock.wallMs();
      assert.equal(scene[kind].admit({ ...login, address: '::ffff:192.0.2.7' }), answer);
      const isKnown = login.deviceId === undefined;
      assert.deepEqual(scene.refusedLogins.list({}), [
        {
          deviceId: isKnown ? testDevice : stranger,
          appId: isKnown ? testApp : null,
          connection: kind,
          reason,
          count: 1,
          firstAtMs: atMs,
          lastAtMs: atMs,
          addresses: ['192.0.2.7'],
        },
      ]);
      assert.equal(scene.telemetry.count(`refused login ${reason}`), 1);
    });

test('repeats are counted in one row, with the first and the last time and the latest two addresses', () => {
  const scene = new SessionScene();
  const begunMs = scene.clock.wallMs();
  for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.1', '', '198.51.100.3']) {
    scene.sleep.admit({ secret: 'wrong', address });
    scene.clock.advance(1000);
  }
  const rows = scene.refusedLogins.list({});
  assert.deepEqual(
    rows.map(({ count, firstAtMs, lastAtMs, addresses }) => [count, firstAtMs, lastAtMs, addresses]),
    [[5, begunMs, begunMs + 4000, ['192.0.2.1', '198.51.100.3']]],
  );
});

test('rows are listed the latest first, and by device, port and reason', () => {
  const scene = new SessionScene();
  const admit = (kind: 'sleep' | 'signal', options: AdmitOptions): void => {
    scene[kind].admit(options);
    scene.clock.advance(1000);
  };
  admit('sleep', { secret: 'wrong' });
  admit('sleep', { deviceId: stranger });
  admit('signal', { secret: 'wrong' });
  const listed = (filter: RefusedFilter): string[] =>
    scene.refusedLogins.list(filter).map(({ connection, reason }) => `${connection} ${reason}`);
  assert.deepEqual(listed({}), ['signal wrong_mac', 'sleep unknown', 'sleep wrong_mac']);
  assert.deepEqual(listed({ deviceId: testDevice }), ['signal wrong_mac', 'sleep wrong_mac']);
  assert.deepEqual(listed({ connection: 'sleep', reason: 'wrong_mac' }), ['sleep wrong_mac']);
  assert.deepEqual(listed({ reason: 'busy' }), []);
});

test('two modules that share an id have a row with the number of replaced sessions and both addresses', () => {
  const scene = new SessionScene();
  const units = ['192.0.2.1', '198.51.100.2'];
  for (let login = 0; login < 66; login += 1) {
    scene.sleep.admit({ address: units[login % 2] ?? '' });
    scene.clock.advance(1000);
  }
  const [conflict] = scene.refusedLogins.list({ reason: 'conflict' });
  assert.deepEqual([conflict?.deviceId, conflict?.appId, conflict?.count], [testDevice, testApp, 65]);
  assert.deepEqual(new Set(conflict?.addresses), new Set(units));
});

test('a flood of refusals is one line of the log a minute for each reason, without ids that the registry does not have', () => {
  const scene = new SessionScene();
  for (let login = 0; login < 1000; login += 1)
    scene.sleep.admit({ deviceId: `made-up-${login}` as DeviceId, address: '203.0.113.9' });
  scene.sleep.admit({ secret: 'wrong' });
  scene.clock.advance(refusalLogMs);
  scene.sleep.admit({ deviceId: stranger });
  const unknown = { reason: 'unknown', connection: 'sleep' };
  assert.deepEqual(
    scene.log.lines.map(({ fields }) => fields),
    [
      { ...unknown, from: '203.0.113.9', refused: 1 },
      { reason: 'wrong_mac', connection: 'sleep', from: '192.0.2.1', device_id: testDevice, refused: 1 },
      { ...unknown, from: '192.0.2.1', refused: 1000 },
    ],
  );
});

test('invented ids displace neither devices of the registry nor the ids of other addresses', () => {
  const scene = new SessionScene();
  scene.sleep.admit({ secret: 'wrong' });
  scene.sleep.admit({ deviceId: stranger, address: '198.51.100.1' });
  for (let login = 0; login < 10_000; login += 1)
    scene.sleep.admit({ deviceId: `made-up-${login}` as DeviceId, address: '203.0.113.9' });
  assert.equal(scene.refusedLogins.list({}).length, unknownLoginsPerAddressMax + 2);
  assert.equal(scene.refusedLogins.forgotten, 10_000 - unknownLoginsPerAddressMax);
  for (let login = 0; login < 10_000; login += 1)
    scene.sleep.admit({
      deviceId: `made-up-${login}` as DeviceId,
      address: `10.1.${login >> 8}.${login & 255}`,
    });
  assert.equal(scene.refusedLogins.list({}).length, unknownLoginsMax + 1);
  assert.equal(scene.refusedLogins.list({ deviceId: testDevice }).length, 1);
  assert.equal(scene.refusedLogins.list({ deviceId: stranger }).length, 0);
});

test('an application with many refused devices drops its own rows, and at the total limit the least active application drops one', () => {
  const scene = new SessionScene();
  const refuse = (deviceId: string, productId: string): void => {
    scene.registry.addDevice({
      deviceId: deviceId as DeviceId,
      productId: productId as ProductId,
      disabled: true,
    });
    scene.sleep.admit({ deviceId: deviceId as DeviceId });
    scene.registry.devices.delete(deviceId);
  };
  refuse('QUIET', 'of no application');
  for (let device = 0; device < 2 * refusedLoginsPerApplicationMax; device += 1)
    refuse(`ours-${device}`, 'doorbell');
  const { length } = scene.refusedLogins.list({});
  assert.equal(length, refusedLoginsPerApplicationMax + 1);
  for (let device = 0; device < refusedLoginsMax; device += 1)
    refuse(`theirs-${device}`, `product ${device}`);
  assert.equal(scene.refusedLogins.list({}).length, refusedLoginsMax);
  assert.equal(scene.refusedLogins.list({ deviceId: 'QUIET' as DeviceId }).length, 0);
});

test('a registry whose product cannot be read changes no answer', () => {
  const scene = new SessionScene();
  scene.registry.findProduct = () => {
    throw new Error('the store cannot be read');
  };
  assert.equal(scene.sleep.admit({ secret: 'wrong' }), 'denied');
  assert.deepEqual(
    scene.refusedLogins.list({}).map(({ appId, reason }) => [appId, reason]),
    [[null, 'wrong_mac']],
  );
});
