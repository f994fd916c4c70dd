/**
 * Who has a device's slot, and what all members know of it: what every implementation of the port SessionLocator, with the
 * ownership behind it, keeps to; and the sleep slots, by which processes, which are one node, and nodes differ.
 */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { neverShared } from '../../src/model/state/shared-connection.ts';
import type { SessionSlot, ConnectionKind, SharedConnection } from '../../src/model/cluster.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import type { RecordsSite, SiteMember } from '../support/records-site.ts';
import type { Ending } from '../support/temporary-store.ts';

export type MakeSite = (t: Ending, members: number) => Promise<RecordsSite>;

const device = 'a\0device of {any} form' as DeviceId;
const waitMs = 10_000;

function memberOf(site: RecordsSite, number: number): SiteMember {
  return site.members[number] ?? assert.fail('so many were started');
}

async function rowOf(member: SiteMember, kind: ConnectionKind, of = device): Promise<SharedConnection> {
  return (await member.locator.find(of, waitMs))[kind];
}

const sessionsIn = ({ slots }: SharedConnection): string[] => slots.map(({ session }) => session);

/** `device.signal.online s1 1 replaced`, as this member reads them. */
function wordsOf({ events }: SiteMember): string[] {
  return events.map(({ type, epoch, data }) => {
    const words = [type, 'session' in data ? data.session : '', epoch];
    if ('replaced' in data && data.replaced) words.push('replaced');
    if ('reason' in data) words.push(data.reason);
    return words.join(' ');
  });
}

/** One after the other, each when the one before is known to all. */
async function logIn(
  site: RecordsSite,
  kind: ConnectionKind,
  logins: readonly (readonly [member: number, session: string])[],
): Promise<void> {
  for (const [number, session] of logins) {
    memberOf(site, number).login(kind, device, session, Date.now());
    await site.settled();
  }
}

const kinds = ['sleep', 'signal'] as const;

export function sessionLocatorConformance(name: string, make: MakeSite): void {
  test(`${name}: a device that was never here is nowhere`, async (t) => {
    const site = await make(t, 2);
    for (const member of site.members) {
      const never = { sleep: neverShared, signal: neverShared };
      assert.deepEqual(await member.locator.find(device, waitMs), never);
      assert.deepEqual(await member.locator.findKept(device, waitMs), never);
    }
  });

  for (const kind of kinds)
    test(`${name}: a login is known to every member, with who has it: ${kind}`, async (t) => {
      const site = await make(t, 2);
      const one = memberOf(site, 0);
      const loginAtMs = Date.now();
      one.login(kind, device, 's1', loginAtMs);
      await site.settled();
      const { id: member, node } = one;
      const slot = { member, node, session: 's1', epoch: 1, loginAtMs } as SessionSlot;
      const lastLoginAt = Math.floor(loginAtMs / 1000);
      for (const other of site.members)
        assert.deepEqual(await rowOf(other, kind), { ...neverShared, epoch: 1, slots: [slot], lastLoginAt });
      assert.deepEqual(
        one.takings.map(({ session, epoch, superseded }) => [session, epoch, superseded]),
        [['s1', 1, []]],
      );
    });

  test(`${name}: a login elsewhere takes the signal slot over, and who had it is told that it is replaced`, async (t) => {
    const site = await make(t, 2);
    const [one, two] = [memberOf(site, 0), memberOf(site, 1)];
    await logIn(site, 'signal', [
      [0, 's1'],
      [1, 's2'],
    ]);
    for (const member of site.members) {
      assert.deepEqual(sessionsIn(await rowOf(member, 'signal')), ['s2']);
      assert.deepEqual(wordsOf(member), ['device.signal.online s1 1', 'device.signal.online s2 2 replaced']);
    }
    assert.deepEqual([one.replaced, two.replaced], [['s1'], []]);
    assert.deepEqual([one.openSession('signal', device), two.openSession('signal', device)], [null, 's2']);
    assert.deepEqual(
      two.takings.at(-1)?.superseded.map(({ member }) => member),
      [one.id],
    );
  });

  test(`${name}: each login has the next epoch, wherever it is, also behind an end`, async (t) => {
    const site = await make(t, 2);
    await logIn(site, 'signal', [
      [0, 's1'],
      [1, 's2'],
      [1, 's3'],
    ]);
    memberOf(site, 1).end('signal', device, 's3', Date.now(), null);
    await site.settled();
    await logIn(site, 'signal', [[0, 's4']]);
    for (const member of site.members) {
      assert.equal((await rowOf(member, 'signal')).epoch, 4);
      assert.deepEqual(wordsOf(member), [
        'device.signal.online s1 1',
        'device.signal.online s2 2 replaced',
        'device.signal.online s3 3 replaced',
        'device.signal.offline s3 3 peer_closed',
        'device.signal.online s4 4',
      ]);
      assert.deepEqual(
        member.events.map(({ seq }) => seq),
        [1, 2, 3, 4, 5],
      );
    }
  });

  test(`${name}: of logins at once one has the signal slot, the others are closed, and no epoch is given twice`, async (t) => {
    const site = await make(t, 3);
    const atMs = Date.now();
    for (const [number, member] of site.members.entries()) member.login('signal', device, `s${number}`, atMs);
    await site.settled();
    await site.settled();
    const [slot, ...more] = (await rowOf(memberOf(site, 0), 'signal')).slots;
    assert.deepEqual(more, []);
    const open = site.members.flatMap((member) => member.openSession('signal', device) ?? []);
    assert.deepEqual(open, [slot?.session]);
    assert.equal(site.members.flatMap(({ replaced }) => replaced).length, 2);
    // Of two nodes the one that was holders later may be told of first.
    const epochs = memberOf(site, 1).events.map(({ epoch }) => epoch ?? 0);
    assert.deepEqual(
      epochs.toSorted((first, second) => first - second),
      [1, 2, 3],
    );
  });

  for (const kind of kinds)
    test(`${name}: with the end of a session its slot is empty, and what is known of the device stays: ${kind}`, async (t) => {
      const site = await make(t, 2);
      const atMs = Date.now();
      const nowS = Math.floor(atMs / 1000);
      const one = memberOf(site, 0);
      one.login(kind, device, 's1', atMs);
      one.end(kind, device, 's1', atMs + 5000, nowS + 4);
      await site.settled();
      const times = { lastLoginAt: nowS, lastHeartbeatAt: nowS + 4, lastOfflineAt: nowS + 5 };
      for (const member of site.members) {
        assert.deepEqual(await rowOf(member, kind), { epoch: 1, slots: [], ...times });
        assert.match(
          wordsOf(member).join('; '),
          /^device\.\w+\.\w+ s1 1; device\.\w+\.offline s1 1 peer_closed$/,
        );
      }
    });

  test(`${name}: the late end of a session that was replaced tells nothing and changes nothing`, async (t) => {
    const site = await make(t, 2);
    await logIn(site, 'signal', [
      [0, 's1'],
      [1, 's2'],
    ]);
    const before = await rowOf(memberOf(site, 1), 'signal');
    memberOf(site, 0).end('signal', device, 's1', Date.now() + 9000, Math.floor(Date.now() / 1000) + 8);
    await site.settled();
    assert.deepEqual(await rowOf(memberOf(site, 1), 'signal'), before);
    assert.equal(wordsOf(memberOf(site, 1)).length, 2);
  });

  test(`${name}: the heartbeats of a session that goes on are kept where every member finds them`, async (t) => {
    const site = await make(t, 2);
    const nowS = Math.floor(Date.now() / 1000);
    await logIn(site, 'sleep', [[0, 's1']]);
    memberOf(site, 0).hear('sleep', device, 's1', nowS + 3);
    await site.heard();
    for (const { locator } of site.members) {
      const { sleep, signal } = await locator.findKept(device, waitMs);
      assert.deepEqual([sleep.lastHeartbeatAt, signal.lastHeartbeatAt], [nowS + 3, null]);
    }
  });

  test(`${name}: the sessions of a member that is lost end once, as lost; those of the others go on`, async (t) => {
    const site = await make(t, 3);
    const [one, two, three] = [memberOf(site, 0), memberOf(site, 1), memberOf(site, 2)];
    const ids = Array.from({ length: 20 }, (_, number) => `device-${number}` as DeviceId);
    for (const id of ids) one.login('sleep', id, `of-${id}`, Date.now());
    one.login('signal', device, 's1', Date.now());
    two.login('signal', 'another' as DeviceId, 's2', Date.now());
    await site.settled();
    await site.lose(one);
    for (const member of [two, three]) {
      for (const id of ids) {
        const { slots, lastOfflineAt } = await rowOf(member, 'sleep', id);
        assert.deepEqual([slots, lastOfflineAt === null], [[], false]);
      }
      const ends = wordsOf(member).filter((words) => words.includes('offline'));
      const expected = ids.map((id) => `device.sleep.offline of-${id} 1 node_lost`);
      assert.deepEqual(ends.toSorted(), [...expected, 'device.signal.offline s1 1 node_lost'].toSorted());
      assert.deepEqual(sessionsIn(await rowOf(member, 'signal', 'another' as DeviceId)), ['s2']);
    }
    await logIn(site, 'signal', [[2, 's3']]);
    assert.equal((await rowOf(two, 'signal')).epoch, 2, 'what is known of the device stays');
  });

  test(`${name}: a device that has come elsewhere keeps its slot when the member that had it is lost`, async (t) => {
    const site = await make(t, 3);
    await logIn(site, 'signal', [
      [0, 's1'],
      [1, 's2'],
    ]);
    await site.lose(memberOf(site, 0));
    assert.deepEqual(sessionsIn(await rowOf(memberOf(site, 2), 'signal')), ['s2']);
    assert.equal(wordsOf(memberOf(site, 2)).length, 2);
  });
}

/** Members that are nodes. */
export function sleepAtNodes(name: string, make: MakeSite): void {
  test(`${name}: sleep slots of nodes add up to three, each node replaces its own, and a fourth one the oldest`, async (t) => {
    const site = await make(t, 4);
    const holders = async (): Promise<string[]> => sessionsIn(await rowOf(memberOf(site, 3), 'sleep'));
    await logIn(site, 'sleep', [
      [0, 's1'],
      [1, 's2'],
      [2, 's3'],
    ]);
    assert.deepEqual(await holders(), ['s1', 's2', 's3']);
    await logIn(site, 'sleep', [[1, 's4']]);
    assert.deepEqual(await holders(), ['s1', 's3', 's4']);
    await logIn(site, 'sleep', [[3, 's5']]);
    assert.deepEqual(await holders(), ['s3', 's4', 's5']);
    const replaced = site.members.map((member) => member.replaced);
    assert.deepEqual(replaced, [['s1'], [], [], []]);
    memberOf(site, 2).end('sleep', device, 's3', Date.now(), null);
    await site.settled();
    assert.deepEqual(await holders(), ['s4', 's5']);
    assert.deepEqual(wordsOf(memberOf(site, 0)), [
      'device.sleep.login s1 1',
      'device.sleep.login s2 2',
      'device.sleep.login s3 3',
      'device.sleep.login s4 4 replaced',
      'device.sleep.login s5 5 replaced',
      'device.sleep.offline s3 3 peer_closed',
    ]);
  });
}
