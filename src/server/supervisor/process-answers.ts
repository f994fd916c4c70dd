/**
 * What one process answers the others of its server: for its devices as any member does, and beside that its metrics,
 * what it has, and, if it is the keeper, the calls it issues. Source: cluster.md, Several processes on one machine.
 */
import { fail } from '../../lib/outcome.ts';
import type { MemberStatus } from '../../model/cluster.ts';
import { refusal } from '../../model/codes.ts';
import type { SessionId } from '../../model/ids.ts';
import type { PeerAnswer } from '../../model/peer.ts';
import { answerPeers } from '../../cluster/ipc/answer-peers.ts';
import { issueCallCredentials } from '../../core/calls/issue-call-credentials.ts';
import type { PeerHost } from '../../core/ports/peers.ts';
import type { CallService } from '../bootstrap/call-service.ts';
import type { House } from '../bootstrap/house.ts';

export interface AnsweringParts {
  status(): MemberStatus;
  /** Null: another process has them. */
  readonly calls: CallService | null;
  /** Gives calls up to who asks; left out: they are all where they can be. */
  readonly takeCalls?: (sessionId: SessionId) => PeerAnswer<'take-calls'>;
}

export function processAnswers(house: House, parts: AnsweringParts): PeerHost {
  const { calls } = parts;
  return answerPeers({
    ...house,
    wakeups: house,
    messages: { ...house, memory: house.messages },
    others: {
      'issue-call': ({ order }) =>
        calls === null ? fail(refusal(50301)) : issueCallCredentials(issuingHouse(house, calls), order),
      'take-calls': ({ sessionId }) => parts.takeCalls?.(sessionId) ?? { kind: 'absent' },
      metrics: () => house.metrics.expose(),
      status: () => parts.status(),
    },
    news: {
      registryChanged: () => forgetRegistry(house),
      logGrew: () => house.records.shared?.refresh(),
      tokenKeysChanged: () => void house.tokenKeys.reload(),
    },
  });
}

/** What is kept of the registry in memory is old, and who is here may have lost the right to be. */
export function forgetRegistry({ registry, signingKeys, deviceReview }: House): void {
  registry.purge();
  signingKeys.purgeAll();
  deviceReview.begin();
}

function issuingHouse(house: House, { directory, bridges, keys }: CallService) {
  const { require_bridge: requireBridge } = house.settings.calls;
  return { ...house, directory, bridges, keys, requireBridge, records: house.records.calls };
}
