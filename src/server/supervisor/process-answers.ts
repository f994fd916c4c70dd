/**
 * The answers of one process to the others of its server: for its devices as any member gives, and its metrics, its
 * status and, at the coordinator, the calls it issues, which has the bridges and the media process, and the changes of the
 * registry, which has the audit log; and a worker's questions for both. Source: cluster.md, Several processes on one machine.
 */
import { pause, type Clock } from '../../lib/clock.ts';
import { fail, type Result } from '../../lib/result.ts';
import type { MemberStatus } from '../../model/cluster.ts';
import { refusal } from '../../model/codes.ts';
import { provisioningMsMax } from '../../model/provisioning-limits.ts';
import type { PeerAnswer, PeerFailure, PeerQuestion } from '../../model/peer.ts';
import type { Provision, ProvisioningAnswer, ProvisioningRequest } from '../../model/provisioning.ts';
import { answerPeers } from '../../cluster/ipc/answer-peers.ts';
import type { LogGrowth } from '../../cluster/ipc/log-growth.ts';
import { callsHere, type CallCoordinator, type CallLocator } from '../../core/ports/call-locator.ts';
import type { DeviceId, RequestId, SessionId } from '../../model/ids.ts';
import { registryUnavailable } from '../../core/devices/provision-devices.ts';
import { findOwnWakeups } from '../../core/wakeups/find-wakeups.ts';
import { issueCallCredentials } from '../../core/calls/issue-call-credentials.ts';
import type { PeerHost, Peers } from '../../core/ports/peers.ts';
import type { ApiCalls } from '../bootstrap/api.ts';
import type { CallService } from '../bootstrap/call-service.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';
import { issuingSettings } from '../config/derived-settings.ts';
import type { WorkerSet } from './worker-set.ts';

export interface AnsweringDeps {
  status(): MemberStatus;
  /** Null: another process has them. */
  readonly calls: CallService | null;
  /** Null: each member has a log of its own. */
  readonly growth: LogGrowth | null;
}

export function processAnswers(context: ServerContext, deps: AnsweringDeps): PeerHost {
  const { calls, growth } = deps;
  return answerPeers({
    ...context,
    wakeups: context,
    messages: { ...context, memory: context.messages },
    ends: context.callEnds,
    others: {
      'issue-call': ({ order }) =>
        calls === null ? fail(refusal(50301)) : issueCallCredentials(issuingDeps(context, calls), order),
      provision: ({ request }) => provisionHere(context, request),
      'find-call': ({ sessionId }) => (calls === null ? null : findCall(calls, sessionId)),
      wakeups: ({ requestId, deviceId }) => wakeupsKnownTo(context, requestId, deviceId),
      metrics: () => context.metrics.expose(),
      status: () => deps.status(),
    },
    news: {
      registryChanged: () => forgetRegistry(context),
      logGrew: (from) => growth?.grewAt(from),
      logFollowing: (from, follows) => growth?.isFollowedBy(from, follows),
      tokenKeysChanged: () => void context.tokenKeys.reload(),
    },
  });
}

/** Null also where its media listener is not known. */
function findCall({ directory, mediaProcesses }: CallService, sessionId: SessionId): PeerAnswer<'find-call'> {
  const appId = directory.find(sessionId)?.appId ?? null;
  const mediaUrl = appId === null ? null : mediaProcesses.urlOf(sessionId);
  return appId === null || mediaUrl === null ? null : { appId, mediaUrl };
}

/** None where the store cannot be read. */
function wakeupsKnownTo(
  context: ServerContext,
  requestId: RequestId,
  deviceId: DeviceId | null,
): PeerAnswer<'wakeups'> {
  const { answeredWakeups, records, log } = context;
  try {
    return findOwnWakeups({ answeredWakeups, wakeupRecords: records.wakeups }, requestId, deviceId);
  } catch (error) {
    log.error({ err: error }, 'wakeups cannot be read for an operator');
    return { wakeups: [], refused: [] };
  }
}

/** Never rejects. */
export async function provisionHere(
  { own, log }: Pick<ServerContext, 'own' | 'log'>,
  request: ProvisioningRequest,
): Promise<ProvisioningAnswer> {
  if (own.provisioner === null) return fail(registryUnavailable);
  try {
    return await own.provisioner.carryOut(request);
  } catch (error) {
    log.error({ err: error }, 'what a change of devices is about cannot be read');
    return fail(registryUnavailable);
  }
}

/** The registry's cached rows are old, and connected devices may have lost the right to be here. */
function forgetRegistry({ registry, signingKeys, deviceReview }: ServerContext): void {
  registry.purge();
  signingKeys.purgeAll();
  deviceReview.begin();
}

function issuingDeps(context: ServerContext, { directory, bridges, keys }: CallService) {
  const { calls: records } = context.records;
  const settings = issuingSettings(context.settings);
  return { ...context, ...settings, directory, bridges, keys, records, callLocator: callsHere };
}

const coordinatorRetryMs = 50;

/** The parts of a worker, whose API asks for calls at the coordinator. */
export function noCallsHere({ callDirectory, tokenKeys }: ServerContext): ApiCalls {
  return { directory: callDirectory, bridges: { hasIdleFor: () => false }, keys: tokenKeys.keys };
}

/** For a worker: all calls are the coordinator's. While that is being started again it is waited for. */
export function callsAtCoordinator(clock: Clock, peers: Peers, workerSet: WorkerSet): CallLocator {
  const coordinator = (): CallCoordinator => workerSet.lastCoordinator ?? 'unavailable';
  return {
    ...callsHere,
    issuerOf: coordinator,
    locate: coordinator,
    ask: (_, question, waitMs) => askCoordinator(clock, peers, workerSet, question, waitMs),
  };
}

/** For the API of a worker: the registry is changed by the coordinator, which has the audit log. Never rejects. */
export function provisionAtCoordinator(
  { clock, registry }: ServerContext,
  peers: Peers,
  workerSet: WorkerSet,
): Provision {
  return async (request) => {
    const question = { kind: 'provision', request } as const;
    const asked = await askCoordinator<'provision'>(clock, peers, workerSet, question, provisioningMsMax);
    // What was changed there is read here by who asks next.
    registry.purge();
    if (asked.ok) return asked.value;
    return fail(asked.error === 'unanswered' ? refusal(50402) : registryUnavailable);
  };
}

/** Never rejects; within `waitMs`. What the coordinator has certainly not got yet is asked of the next one. */
async function askCoordinator<Kind extends 'issue-call' | 'end-call' | 'reject-call' | 'provision'>(
  clock: Clock,
  peers: Peers,
  workerSet: WorkerSet,
  question: PeerQuestion<Kind>,
  waitMs: number,
): Promise<Result<PeerAnswer<Kind>, PeerFailure>> {
  const endMs = clock.monotonicMs() + waitMs;
  for (;;) {
    const coordinator = await workerSet.coordinator(endMs - clock.monotonicMs());
    const leftMs = endMs - clock.monotonicMs();
    if (coordinator === null || leftMs <= 0) return fail('nobody');
    const asked = await peers.ask<Kind>(coordinator, question, leftMs);
    if (asked.ok || asked.error === 'unanswered') return asked;
    // It is not known to be gone yet.
    await pause(clock, coordinatorRetryMs);
  }
}
