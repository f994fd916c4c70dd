/** Call sessions in memory: sample orders and sessions, and a call directory on a driven clock with its followers. */
import { CallDirectory } from '../../src/core/calls/call-directory.ts';
import type { CallFollower } from '../../src/core/calls/call-followers.ts';
import type { Cancel } from '../../src/lib/clock.ts';
import type {
  CallChange,
  CallEndOrder,
  CallMedia,
  CallOrder,
  CallReport,
  CallRoom,
  CallSession,
  ReportedState,
  SignedCallOrder,
} from '../../src/model/call.ts';
import type { EventDraft } from '../../src/model/events.ts';
import type { SessionId, TokenId } from '../../src/model/ids.ts';
import { DrivenClock } from './driven-clock.ts';
import { FakeCallLeg, FakeCallRecords, FakeTelemetry, testApp, testDevice } from './fakes.ts';

export const callMedia: CallMedia = {
  noVideo: false,
  upVideo: 'h264',
  downVideo: 'mjpeg',
  rotation: 0,
  screen: { width: 160, height: 100 },
  resolution: 'fit_screen',
  downAudio: 'alaw',
  audioRate: 8000,
  audioChannels: 1,
};

export const audioOnlyMedia: CallMedia = {
  noVideo: true,
  upVideo: 'none',
  downVideo: 'none',
  rotation: 0,
  screen: null,
  resolution: 'auto',
  downAudio: 'alaw',
  audioRate: 8000,
  audioChannels: 1,
};

export const callRoom: CallRoom = {
  msgAppId: 'wx0123456789abcdef',
  modelId: 'model_1',
  roomId: 'room-1',
  sessionKey: 'session-key',
  sessionToken: 'session-token',
  payload: '',
};

/** The ring timeout is 40 s, so that all leases of its session differ in length. */
export function callOrder(change: Partial<CallOrder> = {}): CallOrder {
  return {
    appId: testApp,
    deviceId: testDevice,
    room: callRoom,
    media: callMedia,
    callingTimeoutS: 40,
    ...change,
  };
}

export function signedOrder(change: Partial<SignedCallOrder> = {}): SignedCallOrder {
  return { ...callOrder(), signature: '0f'.repeat(32), signatureExpiresMs: 1_763_627_400_000, ...change };
}

/** Order to end the call in `callRoom`, unless `call` names another. */
export function callEndOrder(change: Partial<CallEndOrder> = {}): CallEndOrder {
  return {
    appId: testApp,
    deviceId: testDevice,
    call: { kind: 'room', roomId: callRoom.roomId },
    reason: 'cancelled',
    signature: '1e'.repeat(32),
    signatureExpiresMs: 1_763_627_400_000,
    ...change,
  };
}

export function orderForRoom(roomId: string, change: Partial<CallOrder> = {}): CallOrder {
  return callOrder({ room: { ...callRoom, roomId }, ...change });
}

/** A session as issued at 1 000 s of the wall clock. */
export function callSession(change: Partial<CallSession> = {}): CallSession {
  return {
    ...callOrder(),
    sessionId: 'session-1' as SessionId,
    state: 'issued',
    createdAtMs: 1_000_000,
    expiresAtMs: 1_100_000,
    ringsFromMs: null,
    hasSeenDevice: false,
    hasSeenBridge: false,
    connectedTokens: [],
    ...change,
  };
}

export function progress(state: ReportedState): CallReport {
  return { kind: 'progress', state };
}

/** Summarizes an event: `started establishing`, `state ringing`, `ended lost`. */
export function wordsOf({ type, data }: EventDraft): string {
  const about = 'state' in data ? data : null;
  return `${type.replace('call.', '')} ${about?.reason ?? about?.state}`;
}

/** Records each notification with the number of events in the log at that moment. */
export class RecordingFollower implements CallFollower {
  readonly notifications: string[] = [];
  readonly #records: FakeCallRecords;

  constructor(records: FakeCallRecords) {
    this.#records = records;
  }

  issued(session: CallSession): void {
    this.#record(`${session.room.roomId} issued`);
  }

  changed(session: CallSession, { from, state, reason }: CallChange): void {
    this.#record(`${session.room.roomId} ${from} to ${reason ?? state} (now ${session.state})`);
  }

  bridgeLost(session: CallSession): void {
    this.#record(`${session.room.roomId} bridge gone`);
  }

  #record(what: string): void {
    this.notifications.push(`${what} after ${this.#records.events.length} events`);
  }
}

export class CallScene {
  readonly clock = new DrivenClock();
  readonly records = new FakeCallRecords();
  readonly telemetry = new FakeTelemetry();
  readonly #sessionsMax: number | undefined;
  directory: CallDirectory;
  #stop: Cancel;
  #tokens = 0;

  constructor(sessionsMax?: number) {
    this.#sessionsMax = sessionsMax;
    this.directory = new CallDirectory(this, sessionsMax);
    this.#stop = this.directory.start();
  }

  /** The process dies; after `downMs` another one loads the calls from the store. */
  restart(downMs = 0): void {
    this.#stop();
    this.clock.advance(downMs);
    this.directory = new CallDirectory(this, this.#sessionsMax);
    this.directory.resume();
    this.#stop = this.directory.start();
  }

  follow(): RecordingFollower {
    const follower = new RecordingFollower(this.records);
    this.directory.follow(follower);
    return follower;
  }

  issue(order: CallOrder = callOrder()): SessionId {
    const result = this.directory.issue(order);
    if (!('session' in result)) throw new Error(`the issuance was answered ${result.kind}`);
    return result.session.sessionId;
  }

  connectDevice(sessionId: SessionId, token = `token-${(this.#tokens += 1)}`): FakeCallLeg {
    const leg = new FakeCallLeg();
    if (!this.directory.connectDevice(sessionId, token as TokenId, leg)) throw new Error('no such session');
    return leg;
  }

  connectBridge(sessionId: SessionId): FakeCallLeg {
    const leg = new FakeCallLeg();
    if (!this.directory.connectBridge(sessionId, leg)) throw new Error('no such session');
    return leg;
  }

  state(sessionId: SessionId): string | null {
    return this.directory.find(sessionId)?.state ?? null;
  }

  callEvents(sessionId: SessionId): string[] {
    return this.records.events
      .filter(({ data }) => 'session' in data && data.session === sessionId)
      .map(wordsOf);
  }
}

/** The messages that a leg received, and how it was closed, summarized. */
export function legWords({ messages, closes }: FakeCallLeg): string[] {
  const words = messages.map((message) =>
    message.kind === 'state'
      ? `${message.state}${message.reason === null ? '' : ` ${message.reason}`}`
      : message.kind,
  );
  return [...words, ...closes.map((reason) => `closed ${reason}`)];
}
