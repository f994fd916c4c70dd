import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gatherAccepted, noticesGathered } from '../../../../src/cluster/nats/accepted-notices.ts';
import { peerMessageBytesMax } from '../../../../src/model/limits.ts';
import type { DeviceId, RequestId } from '../../../../src/model/ids.ts';
import type { AcceptedWakeup, PeerNotice } from '../../../../src/model/peer.ts';
import { encodePeerMessage } from '../../../../src/protocol/cluster/peer-message.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { memberOne } from '../../../support/peer-messages.ts';

function scene() {
  const clock = new DrivenClock();
  const told: PeerNotice[] = [];
  return { clock, told, accepted: gatherAccepted(clock, (notice) => told.push(notice)) };
}

/** With the longest device id. */
function accepted(number: number): AcceptedWakeup {
  return {
    signature: number.toString(16).padStart(64, '0'),
    signatureExpiresMs: 1_763_627_400_000,
    receipt: { deviceId: 'D'.repeat(128) as DeviceId, acceptedAtMs: 1_763_627_400_123 + number },
    wakeup: { requestId: 'ring' as RequestId, id: null, aliases: [] },
  };
}

test('as many as may go together fit into one message', () => {
  const { told, accepted: gathered } = scene();
  for (let number = 0; number <= noticesGathered.max; number += 1) gathered.add(accepted(number));
  const [, notice] = told;
  assert.ok(notice?.kind === 'wakeups-accepted' && notice.wakeups.length === noticesGathered.max);
  const bytes = encodePeerMessage({ kind: 'notice', from: memberOne, notice });
  assert.ok(bytes.length < peerMessageBytesMax, `${bytes.length} bytes`);
});
