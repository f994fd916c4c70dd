/** Logins of one device that are too fast, at both ports. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoginRates } from '../../../../src/core/devices/login-rates.ts';
import { SessionConflicts } from '../../../../src/core/devices/session-conflicts.ts';
import type { EventDraft } from '../../../../src/model/events.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, testDevice } from '../../../support/fakes.ts';
import { SessionScene } from '../../../support/session-scene.ts';

const other = 'OTHER' as DeviceId;
/** The list of refused logins has its own test. */
const unlisted = { recordConflict: () => undefined };
const modules = ['192.0.2.1', '198.51.100.2'] as const;

function eventsOf({ events }: SessionScene, type: EventDraft['type']): EventDraft[] {
  return events.filter((event) => event.type === type);
}

for (const kind of ['sleep', 'signal'] as const) {
  test(`two modules with one id at the ${kind} port log in once a second after a burst, and their conflict is one event a minute`, () => {
    const scene = new SessionScene();
    scene.registry.addDevice({ deviceId: other });
    const neighbour = scene[kind].login(other);
    let [accepted, busy] = [0, 0];
    for (let i = 0; i < 600; i++) {
      const answer = scene[kind].admit({ address: modules[i % 2] ?? '' });
      if (answer === 'busy') busy += 1;
      else accepted += 1;
      scene.clock.advance(100);
    }
    assert.equal(accepted + busy, 600);
    assert.ok(accepted >= 68 && accepted <= 70, String(accepted));
    assert.equal(eventsOf(scene, 'device.conflict').length, 1);
    const [conflict] = eventsOf(scene, 'device.conflict');
    assert.deepEqual(conflict?.data, { connection: kind, replacements: 5 });
    const lines = scene.log.lines.filter(({ message }) => message.includes('keep replacing'));
    assert.equal(lines.length, 1);
    const { addresses } = (lines[0]?.fields ?? {}) as { addresses: string[] };
    assert.deepEqual(new Set(addresses), new Set(modules));
    assert.ok(!JSON.stringify(scene.events).includes('192.0.2'), 'no backend reads an address');
    assert.deepEqual(neighbour.closes, []);
    assert.equal(typeof scene[kind].admit({ deviceId: other }), 'object', 'another device logs in at once');
  });

  test(`a ${kind} login that is too fast does not replace the open session, and one a second later does`, () => {
    const scene = new SessionScene();
    for (let i = 0; i < 9; i++) scene[kind].login();
    const holder = scene[kind].login();
    const events = scene.events.length;
    for (let i = 0; i < 1000; i++) assert.equal(scene[kind].admit(), 'busy');
    assert.equal(scene[kind].admit({ secret: 'wrong' }), 'denied', 'busy only after the proof');
    assert.deepEqual(holder.closes, []);
    assert.equal(scene.events.length, events);
    scene.clock.advance(1000);
    scene[kind].login();
    assert.deepEqual(holder.closes, ['replaced']);
  });

  test(`a device that logs out at the ${kind} port after each login has no more logins than another`, () => {
    const scene = new SessionScene();
    for (let i = 0; i < 10; i++) scene[kind].login().end('peer_closed');
    assert.equal(scene[kind].admit(), 'busy');
    assert.equal(scene.directory.size, 0, 'the refused login left nothing behind');
    scene.clock.advance(10_000);
    for (let i = 0; i < 10; i++) scene[kind].login().end('peer_closed');
    assert.equal(eventsOf(scene, 'device.conflict').length, 0, 'nothing was replaced');
  });
}

test('the rate of logins is per port', () => {
  const scene = new SessionScene();
  for (let i = 0; i < 10; i++) scene.sleep.login();
  assert.equal(scene.sleep.admit(), 'busy');
  scene.signal.login();
});

test('a device that loses its connection four times a minute has no conflict', () => {
  const scene = new SessionScene();
  for (let i = 0; i < 40; i++) {
    scene.sleep.login();
    scene.clock.advance(15_000);
  }
  assert.equal(eventsOf(scene, 'device.conflict').length, 0);
});

test('a continuing conflict is reported each minute with its number, and one that restarts after a pause is counted from zero', () => {
  const clock = new DrivenClock();
  const events: EventDraft[] = [];
  const append = (event: EventDraft): void => void events.push(event);
  const conflicts = new SessionConflicts({ clock, log: new FakeLog(), append, refusedLogins: unlisted });
  const replace = (times: number): void => {
    for (let i = 0; i < times; i++) {
      conflicts.replaced({ connection: 'sleep', deviceId: testDevice, epoch: 7, address: '' });
      clock.advance(1000);
    }
  };
  const counts = (): unknown[] =>
    events.map(({ data }) => ('replacements' in data ? data.replacements : null));
  replace(130);
  assert.deepEqual(counts(), [5, 60, 60]);
  clock.advance(3600_000);
  replace(4);
  assert.equal(events.length, 3);
  replace(1);
  assert.deepEqual(counts(), [5, 60, 60, 5]);
  assert.deepEqual([...new Set(events.map(({ epoch }) => epoch))], [7]);
});

test('the logins of many devices give none of them its burst back, except with time', () => {
  const clock = new DrivenClock();
  const rates = new LoginRates(clock, 1);
  const acquire = (id: string): boolean => rates.acquire('sleep', id as DeviceId);
  const others = Array.from({ length: 1000 }, (_, i) => `other ${i}`);
  for (let i = 0; i < 10; i++) assert.ok(acquire('a'));
  assert.ok(others.every(acquire));
  assert.equal(acquire('a'), false);
  clock.advance(1000);
  assert.ok(others.every(acquire));
  assert.deepEqual(['a', 'a'].map(acquire), [true, false]);
});

test('full tables drop the devices known for longest, and quiet devices expire', () => {
  const clock = new DrivenClock();
  const rates = new LoginRates(clock, 1, 2);
  const acquire = (id: string): boolean => rates.acquire('sleep', id as DeviceId);
  for (let i = 0; i < 10; i++) assert.ok(acquire('a'));
  assert.deepEqual(['a', 'b', 'c', 'a'].map(acquire), [false, true, true, true]);
  const events: EventDraft[] = [];
  const append = (event: EventDraft): void => void events.push(event);
  const conflicts = new SessionConflicts({ clock, log: new FakeLog(), append, refusedLogins: unlisted }, 2);
  for (const id of ['a', 'a', 'a', 'a', 'b', 'c', 'a'])
    conflicts.replaced({ connection: 'sleep', deviceId: id as DeviceId, epoch: 1, address: '' });
  assert.deepEqual(events, []);
});
