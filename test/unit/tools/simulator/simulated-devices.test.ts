import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { addRegistryCommand } from '../../../../src/cli/registry/registry-command.ts';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import {
  chooseDevices,
  sourceAddress,
  type DeviceChoice,
  type SimulatedDevice,
} from '../../../../src/tools/simulator/simulated-devices.ts';
import { commandScene } from '../../../support/command-scene.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

const apps = ['app'];
const owners = [
  { kind: 'application', app_id: 'app', name: 'app' },
  ...['doorbell', 'lock'].map((id) => ({ kind: 'product', product_id: id, app_ids: apps })),
];

function device(id: string, more: object = {}): object {
  const secret = `the own secret of ${id}`;
  return { kind: 'device', device_id: id, product_id: 'doorbell', secret, ...more };
}

/** Returns a function that chooses among the devices of a registry. */
async function registryOf(t: Ending, devices: readonly object[]) {
  const { clock, dataDirectory, output, run } = commandScene(t, addRegistryCommand);
  const file = join(temporaryDirectory(t), 'registry.ndjson');
  writeFileSync(file, [...owners, ...devices].map((entry) => JSON.stringify(entry)).join('\n'));
  await run('registry', 'import', file);
  const context = new CommandContext({ dataDir: dataDirectory }, {}, { clock, output });
  return (choice: DeviceChoice): Promise<SimulatedDevice[]> => chooseDevices(context, choice);
}

test('only devices that can log in are simulated', async (t) => {
  const choose = await registryOf(t, [
    device('A', { disabled: true }),
    device('B', { expires_at: Date.UTC(2026, 10, 20, 8, 30) / 1000 }),
    device('C'),
    device('D'),
  ]);
  assert.deepEqual(await choose({ devices: 2 }), [
    { deviceId: 'C', secret: 'the own secret of C' },
    { deviceId: 'D', secret: 'the own secret of D' },
  ]);
  assert.equal((await choose({ devices: 1 })).length, 1);
  await assert.rejects(choose({ devices: 3 }), {
    message: /only 2 usable devices; 3 were/,
    advice: /device add/,
  });
});

test('devices are chosen by product and id prefix', async (t) => {
  const other = { product_id: 'lock' };
  const choose = await registryOf(t, [device('A1'), device('A2', other), device('B1', other)]);
  const ids = async (choice: object): Promise<string[]> =>
    (await choose({ devices: 2, ...choice })).map(({ deviceId }) => deviceId);
  assert.deepEqual(await ids({ product: 'lock' }), ['A2', 'B1']);
  assert.deepEqual(await ids({ prefix: 'A' }), ['A1', 'A2']);
});

test('a fleet too large for one source address uses several', { skip: process.platform === 'darwin' }, () => {
  assert.equal(sourceAddress(0, 900, '127.0.0.1'), undefined);
  assert.equal(sourceAddress(0, 19_000, '10.0.0.5'), undefined);
  assert.equal(sourceAddress(899, 19_000, '127.0.0.1'), '127.0.0.2');
  assert.equal(sourceAddress(900, 19_000, '127.0.0.1'), '127.0.0.3');
  const addresses = new Set(
    Array.from({ length: 1_000_000 }, (_, i) => sourceAddress(i, 1_000_000, '127.0.0.1')),
  );
  assert.equal(addresses.size, Math.ceil(1_000_000 / 900));
  for (const address of addresses) assert.match(String(address), /^127\.0\.\d+\.(?!0$|255$)\d+$/);
});
