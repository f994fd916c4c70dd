/**
 * What this member does with what the others ask and tell. A request that was checked by who asks is checked once more:
 * it is cheap, and who asks may be behind. Source: cluster.md.
 */
import type { Clock } from '../../lib/clock.ts';
import { fail, type Outcome } from '../../lib/outcome.ts';
import type { DeviceActor } from '../../core/devices/device-actor.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { refusal, type Refusal } from '../../model/codes.ts';
import type { PeerAnswer, PeerKind, PeerNotice, PeerQuestion } from '../../model/peer.ts';
import type { Log } from '../../core/ports/log.ts';
import type { PeerHost } from '../../core/ports/peers.ts';
import type { MessageHouse } from '../../core/messages/deliver-message.ts';
import type { WakeupHouse } from '../../core/wakeups/do-wakeup.ts';
import { expelDevice } from '../../core/devices/expel-device.ts';
import type { IssuedCalls } from '../../core/calls/issued-calls.ts';
import { answerMessage } from '../../core/messages/send-message.ts';
import { answerWakeup } from '../../core/wakeups/submit-wakeup.ts';
import { wakeableConnection } from '../../core/wakeups/wakeable-connection.ts';

type Answer<Kind extends PeerKind> = PeerAnswer<Kind> | Promise<PeerAnswer<Kind>>;

/** What each question is answered. */
export type PeerAnswers = {
  readonly [Kind in PeerKind]: (question: PeerQuestion<Kind>) => Answer<Kind>;
};

/** What is not of sessions, and is answered elsewhere. Must neither throw nor reject. */
type OtherKind = Exclude<PeerKind, 'beats' | 'wake' | 'write' | 'message' | 'expel'>;

/** What is told, and what is done about it. Must not throw. */
export interface PeerNews {
  registryChanged(): void;
  logGrew(): void;
  tokenKeysChanged(): void;
}

export interface PeersHouse {
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: DeviceDirectory;
  readonly wakeups: WakeupHouse;
  readonly messages: MessageHouse;
  readonly issued: IssuedCalls;
  readonly others: Pick<PeerAnswers, OtherKind>;
  readonly news: PeerNews;
}

export function answerPeers(house: PeersHouse): PeerHost {
  const { directory, wakeups, messages } = house;
  const answers: PeerAnswers = {
    ...house.others,
    beats: ({ deviceId }) => beatsOf(directory.find(deviceId)),
    wake: ({ request, seats }) =>
      answerWakeup(wakeups, request, seats).catch((error: unknown) => broken(house, error)),
    write: (question) => writeHere(directory, question),
    message: ({ request }) =>
      answerMessage(messages, request).catch((error: unknown) => broken(house, error)),
    expel: ({ deviceId }) => expelDevice(house, deviceId, 'kicked'),
  };
  return {
    answer: async (question) => answer(answers, question),
    heard: (notice) => hear(house, notice),
  };
}

/** A question has the answer of its kind, which the compiler is told here. */
function answer<Kind extends PeerKind>(answers: PeerAnswers, question: PeerQuestion<Kind>): Answer<Kind> {
  const answerKind = answers[question.kind as Kind];
  return answerKind(question);
}

/** A programmer's mistake behind the answer: the asker's caller is told, as if it had happened there. */
function broken({ log }: PeersHouse, error: unknown): Outcome<never, Refusal<50000>> {
  log.error({ err: error }, 'a question of another member could not be answered');
  return fail(refusal(50000));
}

function beatsOf(actor: DeviceActor | null): PeerAnswer<'beats'> {
  if (actor === null) return { sleep: null, signal: null };
  const { sleepSession, sleepHeartbeatAt, signalSession, signalHeartbeatAt } = actor;
  return {
    sleep: sleepSession === null ? null : { session: sleepSession, heartbeatAt: sleepHeartbeatAt },
    signal: signalSession === null ? null : { session: signalSession, heartbeatAt: signalHeartbeatAt },
  };
}

function writeHere(
  directory: DeviceDirectory,
  { deviceId, session, customData }: PeerQuestion<'write'>,
): Answer<'write'> {
  const actor = directory.find(deviceId);
  if (actor?.sleepSession !== session) return 'absent';
  const connection = wakeableConnection(actor, customData);
  return typeof connection === 'number' ? writeRefusals[connection] : connection.wake(customData);
}

const writeRefusals = { 40412: 'absent', 40902: 'deaf', 42901: 'busy' } as const;

function hear({ directory, wakeups, issued, news }: PeersHouse, notice: PeerNotice): void {
  switch (notice.kind) {
    case 'displaced':
      return directory.displace(notice.connection, notice.deviceId, notice.session);
    case 'wakeup-accepted':
      return wakeups.memory.noteAccepted(notice);
    case 'call-issued':
      return issued.noteIssued(notice);
    case 'wake-reported':
      return wakeups.watch.reported(notice.deviceId, notice.session, notice.report);
    case 'registry-changed':
      return news.registryChanged();
    case 'log-grew':
      return news.logGrew();
    case 'token-keys-changed':
      return news.tokenKeysChanged();
  }
}
