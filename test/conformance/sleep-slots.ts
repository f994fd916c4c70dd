/** Where a device's sleep sessions are: what differs between processes, which are one node, and nodes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  logIn,
  memberOf,
  rowOf,
  seatedDevice as device,
  sessionsIn,
  wordsOf,
  type MakeSite,
} from '../support/slots-seen.ts';

/** Members of one node. */
export function sleepInProcesses(name: string, make: MakeSite): void {
  test(`${name}: processes of a node have one sleep slot together: a login in another one replaces`, async (t) => {
    const site = await make(t, 2);
    await logIn(site, 'sleep', [
      [0, 's1'],
      [1, 's2'],
    ]);
    assert.deepEqual(sessionsIn(await rowOf(memberOf(site, 0), 'sleep')), ['s2']);
    assert.deepEqual(memberOf(site, 0).replaced, ['s1']);
    assert.deepEqual(wordsOf(memberOf(site, 0)), [
      'device.sleep.login s1 1',
      'device.sleep.login s2 2 replaced',
    ]);
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
