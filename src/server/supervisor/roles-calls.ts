/**
 * Who issues calls, for the API of a process: itself, or, of several processes, the keeper, which has the bridges and
 * the media process. While the keeper is being started again it is waited for. Source: cluster.md, Several processes on one machine.
 */
import { assert } from '../../lib/assert.ts';
import { pause } from '../../lib/pause.ts';
import { fail, type Result } from '../../lib/result.ts';
import { CallDirectory } from '../../core/calls/call-directory.ts';
import type { SignedCallOrder } from '../../model/call.ts';
import type { PeerAnswer, PeerFailure } from '../../model/peer.ts';
import type { IssuingPlacement } from '../../core/calls/issue-call-credentials.ts';
import type { ApiCalls } from '../bootstrap/api.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';
import type { WorkerSet } from './worker-set.ts';

const coordinatorRetryMs = 50;

type Asked = Result<PeerAnswer<'issue-call'>, PeerFailure>;

export function callsAtCoordinator(context: ServerContext, workerSet: WorkerSet): ApiCalls {
  const placement: IssuingPlacement = {
    coordinatorOf: () => workerSet.lastCoordinator ?? 'unavailable',
    // It is never here.
    settled: () => undefined,
    issueAt: (_, order, waitMs) => issueAtCoordinator(context, workerSet, order, waitMs),
  };
  // It has no call and will have none: they are all the keeper's.
  const directory = new CallDirectory({ ...context, records: context.records.calls });
  return { directory, bridges: { hasIdleFor: () => false }, keys: context.tokenKeys.keys, placement };
}

/** Never rejects; within `waitMs`. One that is certainly not issued yet is asked of the next keeper. */
async function issueAtCoordinator(
  { clock, cluster }: ServerContext,
  workerSet: WorkerSet,
  order: SignedCallOrder,
  waitMs: number,
): Promise<Asked> {
  assert(cluster !== null, 'a worker is one of several processes');
  const endMs = clock.monotonicMs() + waitMs;
  for (;;) {
    const coordinator = await workerSet.coordinator(endMs - clock.monotonicMs());
    const leftMs = endMs - clock.monotonicMs();
    if (coordinator === null || leftMs <= 0) return fail('nobody');
    const asked = await cluster.peers.ask<'issue-call'>(coordinator, { kind: 'issue-call', order }, leftMs);
    if (asked.ok || asked.error === 'unanswered') return asked;
    // It is not known to be gone yet.
    await pause(clock, coordinatorRetryMs);
  }
}
