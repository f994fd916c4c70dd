/** The server does not read for a while, and a leg reports as much as it can meanwhile. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { legReportsWaitingMax, linkBacklogBytesMax } from '../../../../src/model/limits.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import type { OpenBridgeLeg } from '../../../../src/core/ports/leg-service.ts';
import { progress } from '../../../support/call-scene.ts';
import { admitted, bridgeKey, LegServiceScene, refusal } from '../../../support/leg-service-scene.ts';
import { FakeCallLeg } from '../../../support/fakes.ts';
import { LinkedLegService } from '../../../support/linked-leg-service.ts';

/** More reports than the link may keep. */
const flood = linkBacklogBytesMax / 50;

let scene: LegServiceScene;
let link: LinkedLegService;
let call: SessionId;
let bridge: OpenBridgeLeg;
beforeEach(async () => {
  scene = new LegServiceScene();
  link = await new LinkedLegService(scene).ready();
  ({ call } = await scene.newCall());
  const opened = link.media.service.openBridgeLeg(
    admitted(await link.media.service.admitBridge(bridgeKey, call)),
    new FakeCallLeg(),
  );
  assert(opened !== null);
  bridge = opened;
  await link.untilIdle();
});

/** From now on the server reads nothing, and the link is full of a leg's reports. */
function congest(): void {
  link.pair.here.pause();
  for (let n = 0; n < flood; n += 1) bridge.report(progress('ringing'));
}

async function readAgain(): Promise<void> {
  link.pair.here.resume();
  for (let turns = 0; turns < 10; turns += 1) await link.untilIdle();
}

test('a leg that never stops reporting does not end the link', async () => {
  congest();
  await link.untilIdle();
  assert.deepEqual([link.mediaEnds, link.serverEnds], [[], []]);
  await readAgain();
  assert.deepEqual([link.mediaEnds, link.serverEnds], [[], []]);
  assert.equal(scene.state(call), 'ringing');
});

test('the last reports of a leg, and its end, are sent when the server reads again', async () => {
  congest();
  bridge.report({ kind: 'end', reason: 'busy' });
  bridge.disconnected();
  assert.deepEqual([scene.state(call), scene.directory.hasBridge(call)], ['establishing', true]);
  await readAgain();
  assert.equal(scene.callEvents(call).at(-1), 'ended busy');
});

test('when too many reports of one leg wait, the oldest are dropped', async () => {
  congest();
  bridge.report({ kind: 'end', reason: 'busy' }, 'another-session');
  for (let n = 0; n < legReportsWaitingMax - 1; n += 1) bridge.report(progress('attempting'));
  bridge.report(progress('connected'));
  await readAgain();
  assert.equal(scene.state(call), 'connected');
});

test('while the server does not read, no leg is admitted and no log line is sent', async () => {
  congest();
  const { writableLength } = link.pair.there;
  assert.equal(await refusal(link.media.service.admitBridge(bridgeKey, null)), 'busy');
  bridge.alive('media');
  link.media.log.info({}, 'a line');
  assert.equal(link.pair.there.writableLength, writableLength);
  await readAgain();
  assert.equal(await refusal(link.media.service.admitBridge(bridgeKey, null)), null);
  await link.pass(1000);
  assert.deepEqual(link.log.lines, [
    {
      level: 'warn',
      fields: { media: { lost: 1 } },
      message: 'log lines dropped: more than the link carries between two heartbeats',
    },
  ]);
});
