/** Messages between members: at least one of every kind of question, answer and notice. */
import type { MemberId, MemberStatus, SessionSlot } from '../../src/model/cluster.ts';
import type { DeviceId, MessageId, RequestId, SessionId } from '../../src/model/ids.ts';
import type {
  PeerAnswerMessage,
  PeerMessage,
  PeerAnswer,
  PeerKind,
  PeerNotice,
  PeerQuestion,
} from '../../src/protocol/cluster/peer-message.ts';
import type { CallEnd } from '../../src/model/call.ts';
import { callEndOrder, signedOrder } from './call-scene.ts';
import type { KnownWakeup, WakeupRequest } from '../../src/model/wakeup.ts';
import { testApp, testDevice } from './fakes.ts';
import { acceptedWakeup } from './stored-wakeups.ts';

export const memberOne = 'node-1/1@one' as MemberId;
export const memberTwo = 'node-1/2@two' as MemberId;

const session = '0193f1c2-0000-7000-8000-000000000001' as SessionId;

const slot: SessionSlot = {
  member: memberTwo,
  node: 'node-1',
  session,
  epoch: 7,
  loginAtMs: 1_763_627_399_000,
};

export const wakeupRequest: WakeupRequest = {
  appId: testApp,
  deviceId: testDevice,
  customData: Uint8Array.of(0x12, 0xab),
  customDataText: '0x12aB',
  requestId: 'request 1' as RequestId,
  signature: '0f'.repeat(32),
  signatureExpiresMs: 1_763_627_400_000,
};

const knownWakeup: KnownWakeup = {
  appId: testApp,
  requestId: 'request 1' as RequestId,
  record: acceptedWakeup(),
};

const receipt = { deviceId: testDevice, acceptedAtMs: 1_763_627_400_123 };

export const memberStatus: MemberStatus = {
  member: memberOne,
  node: 'node-1',
  state: 'up',
  version: '0.1.0',
  startedAtMs: 1_763_627_400_000,
  sleepSessions: 70_000,
  signalSessions: 3,
  outboxLength: 0,
  eventLag: 0,
  leaseAgeMs: 12.5,
};

const callEnd: CallEnd = {
  deviceId: testDevice,
  sessionId: session,
  reason: 'hangup_phone',
  endedAtMs: 1_763_627_400_123,
};

export const questions: { readonly [Kind in PeerKind]: PeerQuestion<Kind> } = {
  heartbeats: { kind: 'heartbeats', deviceIds: [testDevice, 'D2' as DeviceId] },
  wake: { kind: 'wake', request: wakeupRequest, slots: { sleep: [slot], signal: [slot] } },
  write: { kind: 'write', deviceId: testDevice, session, customData: null },
  message: {
    kind: 'message',
    request: {
      appId: testApp,
      deviceId: testDevice,
      name: 'open_door',
      payload: JSON.parse('{"__proto__":{"é":[[[[[[[[[[1.5,null,true]]]]]]]]]]}}') as Record<string, unknown>,
      signature: '0f'.repeat(32),
      signatureExpiresMs: 1_763_627_400_000,
    },
  },
  'issue-call': { kind: 'issue-call', order: signedOrder() },
  'end-call': { kind: 'end-call', order: callEndOrder() },
  'reject-call': {
    kind: 'reject-call',
    deviceId: testDevice,
    rejection: { sessionId: session, reason: 'busy' },
  },
  'find-call': { kind: 'find-call', sessionId: session },
  disconnect: { kind: 'disconnect', deviceId: testDevice },
  wakeups: { kind: 'wakeups', requestId: 'request 1' as RequestId, deviceId: null },
  'held-devices': {
    kind: 'held-devices',
    sought: { prefix: '', contains: 'd', label: 'flat=7', state: 'asleep', after: 'D1', limit: 50 },
  },
};

const messageAnswered: PeerAnswer<'message'> = {
  ok: true,
  value: {
    deviceId: testDevice,
    id: 'message-2' as MessageId,
    acknowledgedAtMs: 1_763_627_400_123,
    wakeup: {
      requestId: 'w-1' as RequestId,
      status: 'completed',
      acceptedAtMs: 1_763_627_400_000,
      wokeAfterMs: 925,
    },
  },
};

export const answers: { readonly [Kind in PeerKind]: readonly PeerAnswer<Kind>[] } = {
  'held-devices': [[testDevice, 'D2' as DeviceId], []],
  heartbeats: [
    [
      { sleep: { session, heartbeatAt: 1_763_627_400 }, signal: null },
      { sleep: null, signal: { session, heartbeatAt: 0 } },
    ],
    [],
  ],
  wake: [
    { ok: true, value: receipt },
    { ok: true, value: receipt, repeatOf: wakeupRequest.requestId },
    { ok: false, error: { code: 42901, message: 'request overload', retryAfterS: 3 } },
    { ok: false, error: { code: 50402, message: 'delivery result unknown' } },
  ],
  write: ['written', 'refused', 'unknown', 'busy', 'absent', 'unwakeable'],
  message: [
    {
      ok: true,
      value: { deviceId: testDevice, id: 'message-1' as MessageId, acknowledgedAtMs: 1_763_627_400_123 },
    },
    messageAnswered,
    { ok: false, error: { code: 40412, message: 'device is not connected' } },
  ],
  'issue-call': [
    { ok: true, value: { peerId: 'peer', token: 'token', mediaUrl: 'ws://media.example:8083' } },
    { ok: false, error: { code: 40903, message: 'media' } },
  ],
  'end-call': [
    { ok: true, value: callEnd },
    { ok: false, error: { code: 40414, message: 'no such call' } },
  ],
  'reject-call': ['taken', 'stray'],
  'find-call': [{ appId: testApp, mediaUrl: 'wss://node-b.example:8083' }, null],
  disconnect: [true, false],
  wakeups: [
    { wakeups: [], refused: [] },
    {
      wakeups: [knownWakeup],
      refused: [
        {
          atMs: 1_763_627_400_000,
          requestId: 'request 1' as RequestId,
          appId: null,
          isProven: false,
          deviceId: null,
          code: 40105,
          reason: 'signature mismatch',
        },
      ],
    },
  ],
};

export const notices: readonly PeerNotice[] = [
  { kind: 'superseded', connection: 'sleep', deviceId: testDevice, session },
  {
    kind: 'wakeups-accepted',
    wakeups: ['0f', '1e'].map((byte) => ({
      signature: byte.repeat(32),
      signatureExpiresMs: 1_763_627_400_000,
      receipt,
      wakeup: {
        requestId: knownWakeup.requestId,
        id: byte === '0f' ? knownWakeup.record.id : null,
        aliases: [],
      },
    })),
  },
  {
    kind: 'message-answered',
    signature: '0f'.repeat(32),
    signatureExpiresMs: 1_763_627_400_000,
    answer: messageAnswered,
  },
  {
    kind: 'message-answered',
    signature: '0f'.repeat(32),
    signatureExpiresMs: 1_763_627_400_000,
    answer: {
      ok: false,
      error: {
        code: 50402,
        message: 'the device did not wake in time',
        wakeup: { requestId: 'w-1' as RequestId, status: 'unknown', acceptedAtMs: null, wokeAfterMs: null },
      },
    },
  },
  {
    kind: 'call-issued',
    signature: '0f'.repeat(32),
    signatureExpiresMs: 1_763_627_400_000,
    sessionId: session,
    peerId: 'peer',
    mediaUrl: null,
    token: 'token',
  },
  {
    kind: 'call-end-answered',
    signature: '0f'.repeat(32),
    signatureExpiresMs: 1_763_627_400_000,
    end: callEnd,
  },
  {
    kind: 'call-end-answered',
    signature: '0f'.repeat(32),
    signatureExpiresMs: 1_763_627_400_000,
    end: null,
  },
  {
    kind: 'wake-reported',
    deviceId: testDevice,
    session,
    report: { cause: 'remote', requestId: 'request 1' as RequestId },
  },
];

export const peerKinds = Object.keys(questions) as PeerKind[];

export const peerMessages: readonly PeerMessage[] = [
  ...peerKinds.map((kind) => ({
    kind: 'question' as const,
    id: 0xffff_ffff,
    from: memberOne,
    question: questions[kind],
  })),
  ...peerKinds.flatMap((to) =>
    answers[to].map((answer) => ({ kind: 'answer', id: 0, to, answer }) as PeerAnswerMessage),
  ),
  ...notices.map((notice) => ({ kind: 'notice' as const, from: memberTwo, notice })),
];
