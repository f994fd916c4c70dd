import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionTicket } from '../../../../src/core/ports/device-sessions.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import { unclaimedWakeupMsMax, unclaimedWakeupsMax } from '../../../../src/model/sleep.ts';
import { computeLoginMac } from '../../../../src/protocol/sleep/login-line.ts';
import { secretMark } from '../../../../src/core/devices/device-access.ts';
import { nextTurn } from '../../../support/event-loop.ts';
import { FakeConnection, testDevice } from '../../../support/fakes.ts';
import { WakeupScene } from '../../../support/wakeup-scene.ts';

const sessionKey = 'k'.repeat(32);

/** A new core, whose store has one open session. */
class RestartedCore {
  readonly scene = new WakeupScene().sleep();
  readonly moved = this.scene.restartCore();
  readonly brought = new FakeConnection();
  /** The wait for edges has ended. */
  isOver = false;

  constructor(open = 1) {
    this.scene.unclaimed.begin(open, () => (this.isOver = true));
  }

  /** A wakeup that is not answered at once. */
  wake(): { readonly code: Promise<number>; isAnswered: boolean } {
    const wakeup = { code: this.scene.wake(), isAnswered: false };
    void wakeup.code.then(() => (wakeup.isAnswered = true));
    return wakeup;
  }

  adopt(): SessionTicket | null {
    return this.scene.sessions.adopt(this.moved, this.brought);
  }

  logIn(): void {
    const signedText = `RVL1 ${Buffer.from(testDevice).toString('base64url')} custom 50 0`;
    const mac = computeLoginMac('device-secret', sessionKey, signedText);
    const login = {
      deviceId: testDevice,
      wakeMode: 'custom',
      heartbeatSeconds: 50,
      wantsReply: false,
    } as const;
    const { sessions } = this.scene;
    const ticket = sessions.admit({ ...login, mac, signedText }, sessionKey, this.brought, true, () => '');
    assert.equal(typeof ticket, 'object');
  }
}

test('a wakeup waits for the session of its device, and is executed as soon as an edge hands it over', async () => {
  const core = new RestartedCore();
  const wakeup = core.wake();
  core.scene.clock.advance(unclaimedWakeupMsMax - 1);
  await nextTurn();
  assert.equal(wakeup.isAnswered, false);
  assert.notEqual(core.adopt(), null);
  assert.equal(await wakeup.code, 0);
  assert.equal(core.brought.wakes.length, 1);
});

test('it is 50301 after 2 s, and a later one waits again', async () => {
  const core = new RestartedCore();
  const { code } = core.wake();
  core.scene.clock.advance(unclaimedWakeupMsMax);
  assert.equal(await code, 50301);
  const later = core.wake();
  core.adopt();
  assert.equal(await later.code, 0);
});

test('a repeat that waits as well is answered like the wakeup, and one packet is sent', async () => {
  const core = new RestartedCore();
  const { signature } = core.scene.request();
  const wakeups = [core.scene.wake({ signature }), core.scene.wake({ signature })];
  core.adopt();
  assert.deepEqual(await Promise.all(wakeups), [0, 0]);
  assert.equal(core.brought.wakes.length, 1);
});

test('beyond the bound a wakeup is 50301 at once', async () => {
  const core = new RestartedCore();
  const waiting = Array.from({ length: unclaimedWakeupsMax }, async () =>
    core.scene.unclaimed.wait(testDevice),
  );
  assert.equal(await core.scene.wake(), 50301);
  core.adopt();
  assert.deepEqual([...new Set(await Promise.all(waiting))], [true]);
});

test('a login of the device claims its session', async () => {
  const core = new RestartedCore();
  const { code } = core.wake();
  core.logIn();
  assert.equal(await code, 0);
  assert.equal(core.isOver, true);
});

test('a recovered login that is newer than the open session claims it', async () => {
  const core = new RestartedCore();
  core.scene.registry.addDevice({});
  const { code } = core.wake();
  const newer = {
    ...core.moved,
    sessionId: 'newer' as SessionId,
    epoch: 2,
    secretMark: secretMark('device-secret'),
  };
  assert.equal(typeof core.scene.sessions.recover(newer, 'custom', core.brought), 'object');
  assert.equal(await code, 0);
  assert.equal(core.isOver, true);
});

test('the wait ends with the last session that was open in the store', async () => {
  const core = new RestartedCore(2);
  core.adopt();
  assert.equal(core.isOver, false);
  core.scene.unclaimed.end();
  assert.equal(core.isOver, true);
  const alone = new RestartedCore();
  alone.adopt();
  assert.equal(alone.isOver, true);
  assert.equal(new RestartedCore(0).isOver, true);
});

test('a wakeup of a device without a session is 40412 at once, as is one of a session that no edge handed over', async () => {
  const core = new RestartedCore();
  const { code } = core.wake();
  core.scene.unclaimed.end();
  assert.equal(await code, 40412);
  assert.equal(await core.scene.wake(), 40412);
  assert.equal(core.adopt()?.sessionId, core.moved.sessionId);
  const other = new WakeupScene();
  other.unclaimed.begin(1, () => undefined);
  assert.equal(await other.wake(), 40412);
});

test('a store that cannot be read when the session arrives is 50301', async (t) => {
  const core = new RestartedCore();
  const { code } = core.wake();
  t.mock.method(core.scene.deps.memory, 'repeated', () => {
    throw new Error('gone');
  });
  core.adopt();
  assert.equal(await code, 50301);
});
