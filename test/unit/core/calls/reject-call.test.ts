import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsHere, type CallLocator } from '../../../../src/core/ports/call-locator.ts';
import { CallRejections } from '../../../../src/core/calls/reject-call.ts';
import { fail, succeed } from '../../../../src/lib/result.ts';
import type { RejectionReason } from '../../../../src/model/call.ts';
import type { MemberId } from '../../../../src/model/cluster.ts';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import type { PeerFailure } from '../../../../src/model/peer.ts';
import { CallScene, legWords, progress } from '../../../support/call-scene.ts';
import { nextTurn } from '../../../support/event-loop.ts';
import { testDevice } from '../../../support/fakes.ts';

const member = 'node-2/0@1' as MemberId;

class Scene extends CallScene {
  readonly asked: string[] = [];

  rejections(locator: CallLocator = callsHere, underWayMax?: number): CallRejections {
    return new CallRejections(
      { directory: this.directory, callLocator: locator, telemetry: this.telemetry },
      underWayMax,
    );
  }

  /** Result as counted. */
  async reject(
    sessionId: SessionId,
    {
      reason = 'rejected',
      deviceId = testDevice,
      locator = callsHere,
    }: {
      reason?: RejectionReason;
      deviceId?: DeviceId;
      locator?: CallLocator;
    } = {},
  ): Promise<string | undefined> {
    const before = new Map(this.telemetry.counts);
    this.rejections(locator).rejected(deviceId, { sessionId, reason });
    await nextTurn();
    const counted = [...this.telemetry.counts].find(
      ([name, count]) => name.startsWith('call rejection') && count !== (before.get(name) ?? 0),
    );
    return counted?.[0].replace('call rejection ', '');
  }

  elsewhere(answer: 'taken' | 'stray' | PeerFailure): CallLocator {
    return {
      ...callsHere,
      locate: () => member,
      ask: async (_, question) => {
        this.asked.push(question.kind);
        return answer === 'taken' || answer === 'stray' ? succeed(answer as never) : fail(answer);
      },
    };
  }
}

for (const reason of ['rejected', 'busy'] as const)
  test(`a controller that says ${reason} ends its issued call with it, and the bridge is notified`, async () => {
    const scene = new Scene();
    const sessionId = scene.issue();
    const bridge = scene.connectBridge(sessionId);
    scene.directory.report(sessionId, 'bridge', bridge, progress('ringing'));
    assert.equal(await scene.reject(sessionId, { reason }), 'taken');
    assert.deepEqual(legWords(bridge), [`ended ${reason}`, 'closed ended']);
    assert.deepEqual(scene.callEvents(sessionId), [
      'started establishing',
      'state ringing',
      `ended ${reason}`,
    ]);
  });

test('a connected, ended, unknown or foreign call is not rejected', async () => {
  const scene = new Scene();
  const sessionId = scene.issue();
  assert.equal(await scene.reject(sessionId, { deviceId: 'OTHERDOOR' as DeviceId }), 'stray');
  assert.equal(await scene.reject('no-such-session' as SessionId), 'stray');
  const bridge = scene.connectBridge(sessionId);
  scene.directory.report(sessionId, 'bridge', bridge, progress('connected'));
  assert.equal(await scene.reject(sessionId), 'stray');
  scene.directory.report(sessionId, 'bridge', bridge, { kind: 'end', reason: 'hangup_phone' });
  assert.equal(await scene.reject(sessionId), 'stray');
  assert.equal(scene.callEvents(sessionId).at(-1), 'ended hangup_phone');
});

for (const answer of ['taken', 'stray'] as const)
  test(`a rejection of a call at another member is ${answer}, as that member answers`, async () => {
    const scene = new Scene();
    const locator = scene.elsewhere(answer);
    assert.equal(await scene.reject('session-1' as SessionId, { locator }), answer);
    assert.deepEqual(scene.asked, ['reject-call']);
  });

test('a member that does not answer or cannot be reached is counted', async () => {
  const scene = new Scene();
  const sessionId = 'session-1' as SessionId;
  assert.equal(await scene.reject(sessionId, { locator: scene.elsewhere('unanswered') }), 'unreachable');
  const unavailable: CallLocator = { ...callsHere, locate: () => 'unavailable' };
  assert.equal(await scene.reject(sessionId, { locator: unavailable }), 'unreachable');
});

test('beyond the bound a rejection is dropped, but one of a local call is accepted', async () => {
  const scene = new Scene();
  const never: CallLocator = { ...callsHere, locate: () => new Promise(() => undefined) };
  const rejections = scene.rejections(never, 1);
  const stray = { sessionId: 'no-such-session' as SessionId, reason: 'busy' } as const;
  rejections.rejected(testDevice, stray);
  rejections.rejected(testDevice, stray);
  rejections.rejected(testDevice, { sessionId: scene.issue(), reason: 'busy' });
  assert.equal(scene.telemetry.count('call rejection dropped'), 1);
  assert.equal(scene.telemetry.count('call rejection taken'), 1);
});
