import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusedTable } from '../../../../src/cli/admin/refused-command.ts';
import { encodeRefused } from '../../../../src/gateways/admin/refused-route.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { SessionScene } from '../../../support/session-scene.ts';

test('a refused login is one line: device, port, reason, count, ages, addresses and application', () => {
  const scene = new SessionScene();
  for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
    scene.sleep.admit({ secret: 'wrong', address });
    scene.clock.advance(60_000);
  }
  scene.signal.admit({ deviceId: 'a\u001b[2Jb' as DeviceId, address: '' });
  const rows = scene.refusedLogins.list({}).map(encodeRefused);
  assert.deepEqual(refusedTable(rows, scene.clock.wallMs()).split('\n'), [
    'DEVICE        PORT    REASON     COUNT  LAST          FIRST          FROM                  APPLICATION',
    'a\\u001b[2Jb   signal  unknown    1      just now      just now       -                     -',
    'TESTDEVICE01  sleep   wrong_mac  3      1 minute ago  3 minutes ago  192.0.2.3, 192.0.2.2  2818153',
  ]);
});
