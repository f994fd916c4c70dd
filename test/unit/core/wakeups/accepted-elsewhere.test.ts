import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestId } from '../../../../src/model/ids.ts';
import { wakeupKnownMs } from '../../../../src/model/limits.ts';
import { AcceptedElsewhere, type WakeupAccepted } from '../../../../src/core/wakeups/accepted-elsewhere.ts';
import { otherApp } from '../../../support/fakes.ts';
import { WakeupScene } from '../../../support/wakeup-scene.ts';

const scene = new WakeupScene();

function named(id: string): ReturnType<typeof scene.request> {
  return scene.request({ requestId: id as RequestId, isCallersId: true });
}

function acceptedOf(request: ReturnType<typeof scene.request>): WakeupAccepted {
  const { appId, requestId, isCallersId, signature, signatureExpiresMs, bodySha256 } = request;
  const receipt = { deviceId: request.deviceId, acceptedAtMs: Number(`0x${signature}`) };
  const known = { appId, requestId, isCallersId, signature, signatureExpiresMs, bodySha256 };
  return { kind: 'wakeup-accepted', ...known, receipt };
}

test('what another member accepted is known by its signature until that expires, by the id for 24 h', () => {
  const known = new AcceptedElsewhere(scene.clock, 10);
  const accepted = acceptedOf(named('mine-1'));
  known.note(accepted);
  const { signature } = accepted;
  assert.deepEqual(known.find(scene.request({ signature })), accepted.receipt);
  assert.deepEqual(known.find(named('mine-1')), accepted.receipt);
  assert.equal(known.bodyOf(named('mine-1')), accepted.bodySha256);
  scene.clock.advance(302_000);
  assert.equal(known.find(scene.request({ signature })), null);
  scene.clock.advance(wakeupKnownMs - 302_001);
  assert.deepEqual(known.find(named('mine-1')), accepted.receipt);
  scene.clock.advance(1);
  assert.deepEqual([known.find(named('mine-1')), known.bodyOf(named('mine-1'))], [null, null]);
});

test("another application's id is another wakeup, and so is one that the server made", () => {
  const known = new AcceptedElsewhere(scene.clock, 10);
  known.note(acceptedOf(named('mine-1')));
  known.note(acceptedOf(scene.request({ requestId: 'made' as RequestId })));
  assert.equal(known.find({ ...named('mine-1'), appId: otherApp }), null);
  assert.equal(known.find({ ...named('mine-1'), isCallersId: false }), null);
  assert.equal(known.find(named('made')), null);
});

test('as many ids as may be: the oldest is forgotten; as many signatures: the next is not taken in', () => {
  const known = new AcceptedElsewhere(scene.clock, 2, 2);
  const requests = ['a', 'b', 'a', 'c'].map(named);
  for (const request of requests) known.note(acceptedOf(request));
  assert.deepEqual(
    ['a', 'b', 'c'].map((id) => known.find(named(id)) !== null),
    [true, false, true],
  );
  assert.deepEqual(
    requests.map(({ signature }) => known.find(scene.request({ signature })) !== null),
    [true, true, false, false],
  );
});
