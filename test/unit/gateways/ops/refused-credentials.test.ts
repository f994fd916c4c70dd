/** Wrong credentials at the ops listener in the log and the metric. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RefusedCredentials } from '../../../../src/gateways/ops/refused-credentials.ts';
import { refusalLogMs } from '../../../../src/model/limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, FakeTelemetry } from '../../../support/fakes.ts';

test('a flood of wrong tokens is counted in full, and logged once a minute with its count', () => {
  const [clock, log, telemetry] = [new DrivenClock(), new FakeLog(), new FakeTelemetry()];
  const refusals = new RefusedCredentials({ clock, log, telemetry });
  refusals.record('login', '192.0.2.1');
  for (let count = 0; count < 1000; count += 1) refusals.record('token', '192.0.2.2');
  clock.advance(refusalLogMs);
  refusals.record('token', '192.0.2.3');
  assert.deepEqual(
    log.lines.map(({ fields }) => fields),
    [
      { credential: 'login', from: '192.0.2.1', refused: 1 },
      { credential: 'token', from: '192.0.2.3', refused: 1001 },
    ],
  );
  assert.deepEqual([telemetry.count('ops auth token'), telemetry.count('ops auth login')], [1001, 1]);
});
