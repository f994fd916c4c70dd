/** The search for a device that has just logged in at another member. Source: docs/cluster.md, Just after a login. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId } from '../../../../src/model/ids.ts';
import {
  memberSearchesBurstMax,
  memberSearchesMax,
  memberSearchMsMax,
} from '../../../../src/model/limits.ts';
import { MemberSearch } from '../../../../src/core/devices/member-search.ts';
import { ClusterScene, now, untilIdle } from '../../../support/cluster-scene.ts';
import { testApp, testDevice } from '../../../support/fakes.ts';

const sought = { appId: testApp, deviceId: testDevice };

test('a login that is not in the shared row yet: any member wakes it, and asks no member twice', async () => {
  const scene = new ClusterScene();
  const { connection } = scene.member(0).sleep({ isCommitted: false });
  assert.equal(await scene.member(1).wake(), 0);
  assert.equal(connection.wakes.length, 1);
  const kinds = scene.network.asked.map(({ what }) => what.kind);
  assert.deepEqual(kinds, ['heartbeats', 'heartbeats', 'wake']);
});

test('a sign-in that is not in the shared row yet: any member delivers its message', async () => {
  const scene = new ClusterScene();
  const { connection } = scene.member(0).connectController({ isCommitted: false });
  assert.equal(await scene.member(1).send(), 0);
  assert.equal(connection.messages.length, 1);
});

test('a device that moved, and whose new login is not in the row yet, is woken where it is', async () => {
  const scene = new ClusterScene();
  const { session } = scene.member(0).sleep();
  scene.member(0).end('sleep', session, { isCommitted: false });
  const { connection } = scene.member(1).sleep({ isCommitted: false });
  assert.equal(await scene.member(2).wake(), 0);
  assert.equal(connection.wakes.length, 1);
});

test('the searches of one application are limited, and then the row is trusted; another still searches', async () => {
  const scene = new ClusterScene();
  const { peers } = scene.member(0);
  const search = new MemberSearch(scene.clock, peers);
  scene.member(1).sleep({ isCommitted: false });
  const share = Math.floor(memberSearchesBurstMax / scene.members.length);
  for (let times = 0; times < share; times++)
    assert.equal(await search.find('sleep', sought), scene.member(1).id);
  assert.equal(await search.find('sleep', sought), null);
  const another = { ...sought, appId: 'another' as ApplicationId };
  assert.equal(await search.find('sleep', another), scene.member(1).id);
  scene.clock.advance(1000);
  assert.equal(await search.find('sleep', sought), scene.member(1).id);
});

test('concurrent searches are bounded, and a silent member delays a search no longer than its time', async () => {
  const scene = new ClusterScene(['n1', 'n2']);
  const search = new MemberSearch(scene.clock, scene.member(0).peers);
  scene.network.fault(scene.member(1).id, 'stopped');
  const searches = Array.from({ length: memberSearchesMax }, (_, place) =>
    search.find('sleep', { ...sought, appId: `app-${place}` as ApplicationId }),
  );
  const asked = scene.network.asked.length;
  assert.equal(asked, memberSearchesMax);
  const beyond = { ...sought, appId: 'one-more' as ApplicationId };
  assert.equal(await search.find('sleep', beyond), null);
  assert.equal(scene.network.asked.length, asked);
  scene.clock.advance(memberSearchMsMax - 1);
  assert.equal(await now(Promise.all(searches)), 'still waiting');
  scene.clock.advance(1);
  await untilIdle();
  assert.ok((await Promise.all(searches)).every((found) => found === null));
  assert.equal(scene.network.asked.length, asked);
});

test('a standalone member asks no other', async () => {
  const scene = new ClusterScene(['n1']);
  assert.equal(await scene.member(0).wake(), 40412);
  assert.equal(scene.network.asked.length, 0);
});
