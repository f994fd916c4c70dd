/** Several processes' worth of committers on one store, at random, against a naive replay of the log. Source: cluster.md. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import fc from 'fast-check';
import type { DeviceId } from '../../src/model/ids.ts';
import type { DrivenClock } from '../support/driven-clock.ts';
import { openSharedMembers, type SharedMember } from '../support/shared-member.ts';
import { SharedReplay } from '../support/shared-log-check.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { draftOf } from '../support/test-journal.ts';

const kinds = ['sleep', 'signal'] as const;
const devices = ['one', 'other', 'third'] as DeviceId[];
const names = ['1', '2', '3'];

const step = fc.record({
  deps: fc.nat(names.length - 1),
  device: fc.nat(devices.length - 1),
  kind: fc.constantFrom(...kinds),
  act: fc.constantFrom('login', 'login', 'end', 'heartbeat', 'event', 'wait', 'turn', 'refresh', 'refuse'),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** What the members were told to write. */
class Written {
  readonly logins: string[] = [];
  readonly ended = new Set<string>();
  events = 0;
}

async function take(deps: SharedMember, { device, kind, act }: Step, number: number, written: Written) {
  const deviceId = devices[device] ?? ('one' as DeviceId);
  const last = written.logins.findLast((name) => name.startsWith(`${deps.member} ${kind} ${deviceId} `));
  if (act === 'login') {
    const name = `${deps.member} ${kind} ${deviceId} ${number}`;
    written.logins.push(name);
    deps.login(kind, deviceId, name, number * 1000);
  } else if (act === 'end' && last !== undefined) {
    written.ended.add(last);
    deps.end(kind, deviceId, last, number * 1000, number);
  } else if (act === 'heartbeat' && last !== undefined && !written.ended.has(last)) {
    if (deps[kind].read(deviceId)?.openSession === last) deps.heartbeat(kind, deviceId, last, number);
  } else if (act === 'event') {
    written.events += 1;
    deps.events.append(draftOf(deviceId, number));
  } else if (act === 'wait') await deps.committed();
  else if (act === 'turn') await new Promise(setImmediate);
  else if (act === 'refresh') deps.events.refresh();
  else if (act === 'refuse') await refuseOnce(deps);
}

/** The next commit fails, and is tried again when a second is over. */
async function refuseOnce(deps: SharedMember): Promise<void> {
  await deps.committed();
  const { environment } = deps.store.state;
  const refused = mock.method(environment, 'transaction', () => Promise.reject(new Error('disk full')));
  deps.events.append(draftOf('refused'));
  while (refused.mock.callCount() === 0) await new Promise(setImmediate);
  refused.mock.restore();
  await new Promise(setImmediate);
  (deps.clock as DrivenClock).advance(1000);
}

function check(members: readonly SharedMember[], written: Written): void {
  const replay = new SharedReplay();
  for (const { events } of members) events.refresh();
  const [first] = members;
  assert(first !== undefined);
  const log = first.events.read(0, 100_000);
  assert.equal(replay.faultOf(log), null);
  assert.deepEqual(Array.from(replay.sessions).sort(), written.logins.toSorted());
  const bare = log.filter(({ type, deviceId }) => type === 'device.wakeup.expired' && deviceId !== 'refused');
  assert.equal(bare.length, written.events);
  for (const { followed, locator, taken } of members) {
    assert.deepEqual(followed, log);
    for (const { session, epoch, connection, deviceId } of taken)
      assert(
        log.some(
          (event) => 'session' in event.data && event.data.session === session && event.epoch === epoch,
        ),
        `${connection} ${deviceId}`,
      );
    for (const deviceId of devices)
      for (const kind of kinds) {
        const { epoch, slots } = locator.find(deviceId)[kind];
        const chair = replay.chairOf(kind, deviceId);
        assert.deepEqual([epoch, slots[0]?.session ?? null], [chair.epoch, chair.session]);
        assert(
          chair.session === null || !written.ended.has(chair.session),
          'an end that was written left its slot',
        );
      }
  }
  assert.equal(members.flatMap(({ taken }) => taken).length, written.logins.length);
}

test('whatever several processes write at once, the log is whole and says who sits where', async (t) => {
  const root = temporaryDirectory(t);
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120 }), async (steps) => {
      const directory = join(root, `data-${(run += 1)}`);
      const ends: (() => void | Promise<void>)[] = [];
      const members = openSharedMembers({ after: (end) => ends.push(end) }, directory, names);
      const written = new Written();
      for (const [number, one] of steps.entries()) {
        const deps = members[one.deps];
        assert(deps !== undefined);
        await take(deps, one, number + 1, written);
      }
      await Promise.all(members.map((deps) => deps.committed()));
      check(members, written);
      for (const end of ends) await end();
      rmSync(directory, { recursive: true });
    }),
    { numRuns: 40 },
  );
  assert.equal(run >= 40, true);
});
