/**
 * This member's answers to the questions of the others, and its reactions to their notices. A request that the asker has
 * checked is checked once more: it is cheap, and the asker may be behind. Source: cluster.md.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { fail, type Result } from '../../lib/result.ts';
import type { DeviceActor } from '../../core/devices/device-actor.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { refusal, type Refusal } from '../../model/codes.ts';
import type { SessionHeartbeat } from '../../protocol/cluster/member-values.ts';
import type {
  DeviceHeartbeats,
  PeerAnswer,
  PeerKind,
  PeerNotice,
  PeerQuestion,
} from '../../protocol/cluster/peer-message.ts';
import type { PeerHost, Peers } from '../../core/ports/peers.ts';
import type { MessageDeps } from '../../core/messages/deliver-message.ts';
import type { WakeupDeps } from '../../core/wakeups/do-wakeup.ts';
import { disconnectDevice } from '../../core/devices/disconnect-device.ts';
import type { IssuedCalls } from '../../core/calls/issue-call-credentials.ts';
import { answerCallEnd, type CallEndDeps } from '../../core/calls/end-call.ts';
import type { CallRejections } from '../../core/calls/reject-call.ts';
import { answerMessage, rememberMessage } from '../../core/messages/send-message.ts';
import { answerWakeup } from '../../core/wakeups/submit-wakeup.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { SlotFollower } from '../../core/ports/session-locator.ts';

type Answer<Kind extends PeerKind> = PeerAnswer<Kind> | Promise<PeerAnswer<Kind>>;

/** An answer for each kind of question. */
export type PeerHandlers = {
  readonly [Kind in PeerKind]: (question: PeerQuestion<Kind>) => Answer<Kind>;
};

/** Questions that are not of sessions, answered elsewhere. Must neither throw nor reject. */
type OtherKind = 'issue-call' | 'find-call' | 'wakeups' | 'held-devices';

export interface PeersDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly directory: DeviceDirectory;
  readonly wakeups: WakeupDeps;
  readonly messages: MessageDeps;
  readonly issued: IssuedCalls;
  readonly ends: CallEndDeps;
  readonly rejections: CallRejections;
  readonly others: Pick<PeerHandlers, OtherKind>;
}

export function answerPeers(deps: PeersDeps): PeerHost {
  const { directory, wakeups, messages } = deps;
  const answers: PeerHandlers = {
    ...deps.others,
    heartbeats: ({ deviceIds }) => deviceIds.map((deviceId) => heartbeatsOf(directory.find(deviceId))),
    wake: ({ request, slots }) =>
      answerWakeup(wakeups, request, slots).catch((error: unknown) => broken(deps, error)),
    write: (question) => writeHere(directory, question),
    message: ({ request }) => answerMessage(messages, request).catch((error: unknown) => broken(deps, error)),
    'end-call': ({ order }) => answerCallEnd(deps.ends, order),
    'reject-call': ({ deviceId, rejection }) => deps.rejections.rejectHere(deviceId, rejection),
    disconnect: ({ deviceId }) => disconnectDevice(deps, deviceId, 'kicked'),
  };
  return {
    answer: async (question) => answer(answers, question),
    receive: (notice) => received(deps, notice),
  };
}

/** A question has the answer of its kind, which the compiler cannot see by itself. */
function answer<Kind extends PeerKind>(answers: PeerHandlers, question: PeerQuestion<Kind>): Answer<Kind> {
  const answerKind = answers[question.kind as Kind];
  return answerKind(question);
}

/** A programmer's mistake behind the answer: the asker's caller gets it, as if it had happened there. */
function broken({ log }: PeersDeps, error: unknown): Result<never, Refusal<50000>> {
  log.error({ err: error }, 'a question of another member could not be answered');
  return fail(refusal(50000));
}

function heartbeatsOf(actor: DeviceActor | null): DeviceHeartbeats {
  return { sleep: heartbeatOf(actor, 'sleep'), signal: heartbeatOf(actor, 'signal') };
}

export function heartbeatOf(actor: DeviceActor | null, kind: ConnectionKind): SessionHeartbeat | null {
  const session = actor?.session(kind) ?? null;
  return actor === null || session === null ? null : { session, heartbeatAt: actor.heartbeatAt(kind) };
}

function writeHere(
  directory: DeviceDirectory,
  { deviceId, session, customData }: PeerQuestion<'write'>,
): Answer<'write'> {
  const actor = directory.find(deviceId);
  if (actor?.session('sleep') !== session) return 'absent';
  const connection = actor.findWakeable(customData !== null);
  return typeof connection === 'number' ? writeRefusals[connection] : connection.wake(customData);
}

const writeRefusals = { 40412: 'absent', 40902: 'unwakeable' } as const;

function received(deps: PeersDeps, notice: PeerNotice): void {
  const { directory, wakeups, messages, issued, ends } = deps;
  switch (notice.kind) {
    case 'superseded':
      return directory.supersede(notice.connection, notice.deviceId, notice.session);
    case 'wakeups-accepted':
      for (const wakeup of notice.wakeups) wakeups.memory.recordAccepted(wakeup);
      return;
    case 'message-answered':
      return rememberMessage(messages, notice, notice.answer);
    case 'call-issued':
      return issued.recordIssued(notice);
    case 'call-end-answered':
      return ends.answered.recordAnswered(notice);
    case 'wake-reported':
      return wakeups.watch.reported(notice.deviceId, notice.session, notice.report);
  }
}

/**
 * Applies the shared rows to this member's sessions: they take the epoch that all members know, the members of the sessions
 * that they superseded are notified, and one that has lost its slot is closed. Source: cluster.md, Ownership.
 */
export function reconcileSlots(
  directory: DeviceDirectory,
  peers: Pick<Peers, 'self' | 'notify'>,
): SlotFollower {
  return {
    claimed(slot) {
      const { connection, deviceId, superseded } = slot;
      directory.find(deviceId)?.adopt(slot);
      // A session of this member's own was closed when the next one of its device was let in.
      for (const { member, session } of superseded)
        if (member !== peers.self)
          peers.notify(member, { kind: 'superseded', connection, deviceId, session });
    },
    lost: ({ connection, deviceId, session }) => directory.supersede(connection, deviceId, session),
  };
}
