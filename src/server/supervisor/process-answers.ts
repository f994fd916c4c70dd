/**
 * The answers of one process to the others of its server: for its devices as any member gives, and its metrics, its
 * status and, at the coordinator, the calls it issues, which has the bridges and the media process; and a worker's
 * question for such a call. Source: cluster.md, Several processes on one machine.
 */
import { pause, type Clock } from '../../lib/clock.ts';
import { fail, type Result } from '../../lib/result.ts';
import type { SignedCallOrder } from '../../model/call.ts';
import type { MemberStatus } from '../../model/cluster.ts';
import { refusal } from '../../model/codes.ts';
import type { SessionId } from '../../model/ids.ts';
import type { PeerAnswer, PeerFailure } from '../../model/peer.ts';
import { answerPeers } from '../../cluster/ipc/answer-peers.ts';
import { issueCallCredentials, type IssuingPlacement } from '../../core/calls/issue-call-credentials.ts';
import type { PeerHost, Peers } from '../../core/ports/peers.ts';
import type { ApiCalls } from '../bootstrap/api.ts';
import type { CallService } from '../bootstrap/call-service.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';
import type { WorkerSet } from './worker-set.ts';

export interface AnsweringDeps {
  status(): MemberStatus;
  /** Null: another process has them. */
  readonly calls: CallService | null;
  /** Gives calls up to the asker; left out: they are all where they can be. */
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

/** The registry's cached rows are old, and connected devices may have lost the right to be here. */
export function forgetRegistry({ registry, signingKeys, deviceReview }: ServerContext): void {
  registry.purge();
  signingKeys.purgeAll();
  deviceReview.begin();
}

function issuingDeps(context: ServerContext, { directory, bridges, keys }: CallService) {
  const { require_bridge: requireBridge } = context.settings.calls;
  return { ...context, directory, bridges, keys, requireBridge, records: context.records.calls };
}

const coordinatorRetryMs = 50;

type Asked = Result<PeerAnswer<'issue-call'>, PeerFailure>;

/** For the API of a worker. While the coordinator is being started again it is waited for. */
export function callsAtCoordinator(
  { clock, callDirectory, tokenKeys }: ServerContext,
  peers: Peers,
  workerSet: WorkerSet,
): ApiCalls {
  const placement: IssuingPlacement = {
    coordinatorOf: () => workerSet.lastCoordinator ?? 'unavailable',
    // It is never here.
    settled: () => undefined,
    issueAt: (_, order, waitMs) => issueAtCoordinator({ clock, peers }, workerSet, order, waitMs),
  };
  return {
    // A worker has no call and will have none: they are all the coordinator's.
    directory: callDirectory,
    bridges: { hasIdleFor: () => false },
    keys: tokenKeys.keys,
    placement,
  };
}

/** Never rejects; within `waitMs`. A call that is certainly not issued yet is asked of the next coordinator. */
async function issueAtCoordinator(
  { clock, peers }: { readonly clock: Clock; readonly peers: Peers },
  workerSet: WorkerSet,
  order: SignedCallOrder,
  waitMs: number,
): Promise<Asked> {
  const endMs = clock.monotonicMs() + waitMs;
  for (;;) {
    const coordinator = await workerSet.coordinator(endMs - clock.monotonicMs());
    const leftMs = endMs - clock.monotonicMs();
    if (coordinator === null || leftMs <= 0) return fail('nobody');
    const asked = await peers.ask<'issue-call'>(coordinator, { kind: 'issue-call', order }, leftMs);
    if (asked.ok || asked.error === 'unanswered') return asked;
    // It is not known to be gone yet.
    await pause(clock, coordinatorRetryMs);
  }
}
