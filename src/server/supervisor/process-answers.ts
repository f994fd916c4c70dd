/**
 * What one process answers the others of its server: for its devices as any member does, and beside that its metrics,
 * what it has, and, if it is the keeper, the calls it issues. Source: cluster.md, Several processes on one machine.
 */
import { fail } from '../../lib/result.ts';
import type { MemberStatus } from '../../model/cluster.ts';
import { refusal } from '../../model/codes.ts';
import type { SessionId } from '../../model/ids.ts';
import type { PeerAnswer } from '../../model/peer.ts';
import { answerPeers } from '../../cluster/ipc/answer-peers.ts';
import { issueCallCredentials } from '../../core/calls/issue-call-credentials.ts';
import type { PeerHost } from '../../core/ports/peers.ts';
import type { CallService } from '../bootstrap/call-service.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';

export interface AnsweringDeps {
  status(): MemberStatus;
  /** Null: another process has them. */
  readonly calls: CallService | null;
  /** Gives calls up to who asks; left out: they are all where they can be. */
  readonly takeCalls?: (sessionId: SessionId) => PeerAnswer<'take-calls'>;
}

export function processAnswers(context: ServerContext, deps: AnsweringDeps): PeerHost {
  const { calls } = deps;
  return answerPeers({
    ...context,
    wakeups: context,
    messages: { ...context, memory: context.messages },
    others: {
      'issue-call': ({ order }) =>
        calls === null ? fail(refusal(50301)) : issueCallCredentials(issuingDeps(context, calls), order),
      'take-calls': ({ sessionId }) => deps.takeCalls?.(sessionId) ?? { kind: 'absent' },
      metrics: () => context.metrics.expose(),
      status: () => deps.status(),
    },
    news: {
      registryChanged: () => forgetRegistry(context),
      logGrew: () => context.records.events.refresh(),
      tokenKeysChanged: () => void context.tokenKeys.reload(),
    },
  });
}

/** What is kept of the registry in memory is old, and who is here may have lost the right to be. */
export function forgetRegistry({ registry, signingKeys, deviceReview }: ServerContext): void {
  registry.purge();
  signingKeys.purgeAll();
  deviceReview.begin();
}

function issuingDeps(context: ServerContext, { directory, bridges, keys }: CallService) {
  const { require_bridge: requireBridge } = context.settings.calls;
  return { ...context, directory, bridges, keys, requireBridge, records: context.records.calls };
}
