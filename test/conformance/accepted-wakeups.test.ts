/** What every implementation of the port AcceptedWakeups keeps to; the stand-in of the tests is one of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId, DeviceId, RequestId } from '../../src/domain/ids.ts';
import type { AcceptedWakeups } from '../../src/ports/accepted-wakeups.ts';
import { AcceptedWakeupStore } from '../../src/store/accepted-wakeup-store.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeAcceptedWakeups } from '../support/fakes.ts';
import { temporaryStore, type Ending } from '../support/temporary-store.ts';

const clock = new DrivenClock();
const implementations: Record<string, (t: Ending) => AcceptedWakeups> = {
  store: (t) => new AcceptedWakeupStore(temporaryStore(t).state, { clock, knownMax: 10, backlogMax: 10 }),
  'stand-in': () => new FakeAcceptedWakeups(),
};

const app = '2818153' as ApplicationId;
const requestId = 'a request, with {printable} characters' as RequestId;
const wakeup = { deviceId: 'a\0b' as DeviceId, acceptedAtMs: clock.wallMs(), bodySha256: '0f'.repeat(32) };

for (const [name, make] of Object.entries(implementations)) {
  test(`${name}: a wakeup is known by application and request id together`, (t) => {
    const wakeups = make(t);
    assert.equal(wakeups.find(app, requestId), null);
    wakeups.add(app, requestId, wakeup);
    assert.deepEqual(wakeups.find(app, requestId), wakeup);
    assert.equal(wakeups.find('28181' as ApplicationId, `53${requestId}` as RequestId), null);
    assert.equal(wakeups.find(app, `${requestId} ` as RequestId), null);
  });

  test(`${name}: there is room to begin with`, (t) => {
    assert.equal(make(t).isFull(), false);
  });
}
