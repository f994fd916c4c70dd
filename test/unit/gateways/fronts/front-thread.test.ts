import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SystemClock } from '../../../../src/lib/system-clock.ts';
import { frontCounterWords } from '../../../../src/gateways/fronts/front-messages.ts';
import { startFrontThread } from '../../../../src/gateways/fronts/front-thread.ts';

test('the thread of a front can be ended while it loads', async () => {
  const thread = startFrontThread(
    {
      listen: { host: '127.0.0.1', port: 0 },
      tls: null,
      perAddressMax: 0,
      verification: { windowMs: 1000, explainMismatch: false },
      rules: { mixedFormats: 'refuse', secretRules: { allowShortSecrets: false } },
      counters: new SharedArrayBuffer(frontCounterWords * Int32Array.BYTES_PER_ELEMENT),
    },
    new SystemClock(),
  );
  assert.equal(await thread.endStuck(), true);
  await thread.ended;
});
