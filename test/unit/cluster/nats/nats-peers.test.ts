import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noticesGathered } from '../../../../src/cluster/nats/nats-peers.ts';
import { peerMessageBytesMax } from '../../../../src/model/limits.ts';
import type { DeviceId, RequestId } from '../../../../src/model/ids.ts';
import { encodePeerMessage } from '../../../../src/protocol/cluster/peer-message.ts';
import { memberOne } from '../../../support/peer-messages.ts';

test('as many accepted wakeups as may go together fit into one message', () => {
  const longest = {
    signature: '0f'.repeat(32),
    signatureExpiresMs: 1_763_627_400_000,
    receipt: { deviceId: 'D'.repeat(128) as DeviceId, acceptedAtMs: 1_763_627_400_123 },
    wakeup: { requestId: 'ring' as RequestId, id: null, aliases: [] },
  };
  const wakeups = Array.from({ length: noticesGathered.max }, () => longest);
  const notice = { kind: 'wakeups-accepted', wakeups } as const;
  const bytes = encodePeerMessage({ kind: 'notice', from: memberOne, notice });
  assert.ok(bytes.length < peerMessageBytesMax, `${bytes.length} bytes`);
});
