import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail, succeed, type Result } from '../../../../src/lib/result.ts';
import { CallDirectory } from '../../../../src/core/calls/call-directory.ts';
import { checkCallToken, type CallTokenClaims } from '../../../../src/protocol/call-token/call-token.ts';
import { TokenKeys } from '../../../../src/protocol/call-token/token-keys.ts';
import type { CallMedia, CallRoom, CallSession, SignedCallOrder } from '../../../../src/model/call.ts';
import type { DeviceId, TokenId } from '../../../../src/model/ids.ts';
import type { MemberId } from '../../../../src/model/cluster.ts';
import type { SoundEncoding } from '../../../../src/model/media/sound.ts';
import type { PeerFailure } from '../../../../src/model/peer.ts';
import type { PeerAnswer, PeerKind, PeerQuestion } from '../../../../src/protocol/cluster/peer-message.ts';
import { callsHere, type CallLocator } from '../../../../src/core/ports/call-locator.ts';
import { refusal } from '../../../../src/model/codes.ts';
import { callCommitMsMax, callTokenBytesMax } from '../../../../src/model/limits.ts';
import {
  issueCallCredentials,
  type CallCredentialsDeps,
  IssuedCalls,
  type CallIssued,
} from '../../../../src/core/calls/issue-call-credentials.ts';
import { callMedia } from '../../../support/call-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import {
  FakeCallLeg,
  FakeCallRecords,
  FakeLog,
  FakeRegistry,
  FakeTelemetry,
  otherApp,
  testApp,
  testDevice,
} from '../../../support/fakes.ts';

const room: CallRoom = {
  msgAppId: 'wx0123456789abcdef',
  modelId: 'model_1',
  roomId: 'room-1',
  sessionKey: 'planted-session-key',
  sessionToken: 'planted-session-token',
  payload: 'planted-payload',
};

const otherMedia: CallMedia = { ...callMedia, audioRate: 16_000 };
const secret = 'planted signing key of 32 bytes!';
const keys = new TokenKeys([{ kid: 'k1', secret: Buffer.from(secret) }]);

type Answer = Awaited<ReturnType<typeof issueCallCredentials>>;

class Scene {
  readonly clock = new DrivenClock();
  readonly registry = new FakeRegistry();
  readonly records = new FakeCallRecords();
  readonly telemetry = new FakeTelemetry();
  readonly log = new FakeLog();
  readonly directory: CallDirectory;
  draining = false;
  idleBridge = false;
  mediaUrl: string | null = 'ws://media.example:8083';
  soundEncoders: readonly SoundEncoding[] | null = null;
  deps: CallCredentialsDeps;
  readonly told: CallIssued[] = [];
  #signatures = 0;

  constructor(sessionsMax = 1000, signaturesMax = 1000) {
    this.directory = new CallDirectory(this, sessionsMax);
    this.deps = {
      clock: this.clock,
      registry: this.registry,
      directory: this.directory,
      records: this.records,
      bridges: { hasIdleFor: (appId) => this.idleBridge && appId === testApp },
      requireBridge: false,
      callLocator: callsHere,
      keys,
      mediaUrl: () => this.mediaUrl,
      soundEncoders: () => this.soundEncoders,
      addressInPeerId: false,
      issued: new IssuedCalls(this.clock, (told) => this.told.push(told), signaturesMax),
      telemetry: this.telemetry,
      log: this.log,
      isDraining: () => this.draining,
    };
  }

  /** A new request, signed now, unless a signature is given. */
  order(changes: Partial<SignedCallOrder> = {}): SignedCallOrder {
    this.#signatures += 1;
    return {
      appId: testApp,
      deviceId: testDevice,
      room,
      media: callMedia,
      callingTimeoutS: 30,
      signature: this.#signatures.toString(16).padStart(64, '0'),
      signatureExpiresMs: this.clock.wallMs() + 300_000,
      ...changes,
    };
  }

  ask(changes?: Partial<SignedCallOrder>): Promise<Answer> {
    return issueCallCredentials(this.deps, this.order(changes));
  }

  /** The issued credentials, with the token verified and decoded. */
  async issue(changes?: Partial<SignedCallOrder>): Promise<{ peerId: string; claims: CallTokenClaims }> {
    const answer = await this.ask(changes);
    assert.ok(answer.ok, JSON.stringify(answer));
    const claims = await checkCallToken(keys, answer.value.token);
    assert.ok(claims.ok, JSON.stringify(claims));
    return { peerId: answer.value.peerId, claims: claims.value };
  }

  /** The code of the answer; 0: issued. */
  async code(changes?: Partial<SignedCallOrder>): Promise<number> {
    const answer = await this.ask(changes);
    return answer.ok ? 0 : answer.error.code;
  }

  sessions(deviceId = testDevice): readonly CallSession[] {
    return this.directory.sessionsOf(deviceId);
  }

  counted(): readonly number[] {
    return ['issued', 'renewed', 'changed', 'refused'].map((name) =>
      this.telemetry.count(`credentials ${name}`),
    );
  }
}

function inRoom(roomId: string): { readonly room: CallRoom } {
  return { room: { ...room, roomId } };
}

function sessionIn(peerId: string): string | null {
  return new URL(peerId).searchParams.get('x_session');
}

test('a session is issued as ordered, and its peer id and token name it', async () => {
  const scene = new Scene();
  const nowS = scene.clock.wallMs() / 1000;
  scene.clock.advance(400);
  const { peerId, claims } = await scene.issue({ callingTimeoutS: 45 });
  const [session] = scene.sessions();
  assert.deepEqual(
    [session?.room, session?.media, session?.callingTimeoutS, session?.state],
    [room, callMedia, 45, 'issued'],
  );
  assert.equal(
    peerId,
    'whips://msgvoip?x_msg_app_id=wx0123456789abcdef&x_msg_model_id=model_1&x_msg_room_id=room-1' +
      `&x_device_id=${testDevice}&x_session=${session?.sessionId}`,
  );
  const { tokenId, ...others } = claims;
  assert.match(tokenId, /^[0-9a-f-]{36}$/);
  assert.deepEqual(others, {
    deviceId: testDevice,
    sessionId: session?.sessionId,
    issuedAtS: nowS,
    expiresAtS: nowS + 45 + 60,
  });
  assert.deepEqual(scene.counted(), [1, 0, 0, 0]);
});

test('a second request returns the same session, with a new token of full lifetime', async () => {
  const scene = new Scene();
  const first = await scene.issue();
  scene.clock.advance(20_000);
  const second = await scene.issue();
  assert.equal(second.peerId, first.peerId);
  assert.notEqual(second.claims.tokenId, first.claims.tokenId);
  assert.equal(second.claims.expiresAtS, first.claims.expiresAtS + 20);
  assert.equal(scene.sessions().length, 1);
  assert.deepEqual(scene.counted(), [1, 1, 0, 0]);
});

test('other media replace those of a session without a leg, and are 40903 afterwards', async () => {
  const scene = new Scene();
  const { claims } = await scene.issue();
  assert.equal((await scene.issue({ media: otherMedia })).claims.sessionId, claims.sessionId);
  assert.deepEqual(scene.sessions()[0]?.media, otherMedia);
  scene.directory.connectDevice(claims.sessionId, claims.tokenId, new FakeCallLeg());
  assert.equal(await scene.code(), 40903);
  assert.deepEqual(scene.sessions()[0]?.media, otherMedia);
  assert.equal(await scene.code({ media: otherMedia }), 0);
  assert.deepEqual(scene.counted(), [1, 1, 1, 1]);
});

test('a fifth session of a device without an issued one is 42901, with a retry time', async () => {
  const scene = new Scene();
  for (const roomId of ['room-1', 'room-2', 'room-3', 'room-4']) {
    const { claims } = await scene.issue(inRoom(roomId));
    scene.directory.connectBridge(claims.sessionId, new FakeCallLeg());
  }
  const answer = await scene.ask(inRoom('room-5'));
  assert.ok(!answer.ok);
  assert.deepEqual([answer.error.code, answer.error.retryAfterS], [42901, 1]);
  assert.equal(scene.sessions().length, 4);
});

test('a session beyond the maximum of the process is 42901; an existing one is answered', async () => {
  const scene = new Scene(1);
  await scene.issue();
  scene.registry.addDevice({ deviceId: 'OTHER' as DeviceId });
  assert.equal(await scene.code({ deviceId: 'OTHER' as DeviceId }), 42901);
  assert.equal(await scene.code(), 0);
});

interface Refused {
  readonly name: string;
  readonly change: (scene: Scene) => unknown;
  readonly order?: Partial<SignedCallOrder>;
  readonly code: number;
  readonly retryAfterS?: number;
}

const full = '\u0001'.repeat(255) as DeviceId;
const refused: readonly Refused[] = [
  {
    name: 'a device that is not registered',
    change: ({ registry }) => registry.devices.clear(),
    code: 40403,
  },
  {
    name: 'a disabled device',
    change: ({ registry }) => registry.addDevice({ disabled: true }),
    code: 40403,
  },
  { name: "another application's device", change: () => 0, order: { appId: otherApp }, code: 40302 },
  {
    name: 'a device that expires now',
    change: ({ registry, clock }) => registry.addDevice({ expiresAt: clock.wallMs() / 1000 }),
    code: 40304,
  },
  {
    name: 'a device id that no token has room for',
    change: ({ registry }) => registry.addDevice({ deviceId: full }),
    order: { deviceId: full },
    code: 40003,
  },
  {
    name: 'a registry that cannot be read',
    change: ({ registry }) => (registry.failure = new Error('gone')),
    code: 50000,
  },
  {
    name: 'a server that is being stopped',
    change: (scene) => (scene.draining = true),
    code: 50301,
    retryAfterS: 1,
  },
  {
    name: 'a store that is far behind',
    change: ({ records }) => (records.overloaded = true),
    code: 50301,
    retryAfterS: 1,
  },
  {
    name: 'no idle bridge where one has to be there',
    change: (scene) => (scene.deps = { ...scene.deps, requireBridge: true }),
    code: 50301,
    retryAfterS: 1,
  },
];
for (const { name, change, order, code, retryAfterS } of refused)
  test(`${name} is ${code}, and nothing is begun`, async () => {
    const scene = new Scene();
    change(scene);
    const answer = await scene.ask(order);
    assert.ok(!answer.ok);
    assert.deepEqual([answer.error.code, answer.error.retryAfterS], [code, retryAfterS]);
    assert.deepEqual([scene.directory.size, scene.records.writes], [0, []]);
    assert.deepEqual(scene.counted(), [0, 0, 0, 1]);
  });

test('the checks come in their order: the token, the device, the drain, the bridge, the media', async () => {
  const scene = new Scene();
  const { claims } = await scene.issue();
  scene.directory.connectDevice(claims.sessionId, claims.tokenId, new FakeCallLeg());
  scene.deps = { ...scene.deps, requireBridge: true };
  scene.draining = true;
  scene.registry.failure = new Error('gone');
  assert.equal(await scene.code({ deviceId: full }), 40003);
  scene.registry.failure = null;
  assert.equal(await scene.code({ appId: otherApp, media: otherMedia }), 40302);
  assert.equal(await scene.code({ media: otherMedia }), 50301);
  scene.draining = false;
  assert.equal(await scene.code({ media: otherMedia }), 50301);
  scene.idleBridge = true;
  assert.equal(await scene.code({ media: otherMedia }), 40903);
  assert.equal(await scene.code(), 0);
});

test('if a bridge is required, an idle one of the application suffices, or the one of the session', async () => {
  const scene = new Scene();
  scene.deps = { ...scene.deps, requireBridge: true };
  scene.idleBridge = true;
  const { claims } = await scene.issue();
  scene.idleBridge = false;
  assert.equal(await scene.code(), 50301);
  const bridge = new FakeCallLeg();
  scene.directory.connectBridge(claims.sessionId, bridge);
  assert.equal(await scene.code(), 0);
  assert.equal(await scene.code(inRoom('room-2')), 50301, 'the bridge of one session is none of another');
  scene.directory.disconnected(claims.sessionId, 'bridge', bridge);
  assert.equal(await scene.code(), 50301);
});

const longestIds = [
  ['x', 255],
  ['"', 255],
  ['😀', 63],
  ['\u0001', 127],
] as const;
for (const [character, count] of longestIds)
  test(`a device id of ${count} times ${JSON.stringify(character)} is issued a token below its bound`, async () => {
    const scene = new Scene();
    const { deviceId } = scene.registry.addDevice({ deviceId: character.repeat(count) as DeviceId });
    const answer = await scene.ask({ deviceId });
    assert.ok(answer.ok && answer.value.token.length < callTokenBytesMax);
    const claims = await checkCallToken(keys, answer.value.token);
    assert.equal(claims.ok && claims.value.deviceId, deviceId);
  });

test('an answer waits until its session is committed', async () => {
  const scene = new Scene();
  let commit = (): void => undefined;
  scene.records.outstanding = new Promise((resolve) => (commit = resolve));
  const answer = scene.code();
  assert.deepEqual([scene.sessions().length, scene.clock.pendingTimers], [1, 1]);
  commit();
  assert.equal(await answer, 0);
  assert.equal(scene.clock.pendingTimers, 0);
});

test('a session that is not committed within 2 s is answered 50301, and a second request returns the same one', async () => {
  const scene = new Scene();
  scene.records.outstanding = new Promise(() => undefined);
  const answer = scene.ask();
  scene.clock.advance(callCommitMsMax);
  const refused = await answer;
  assert.ok(!refused.ok);
  assert.deepEqual([refused.error.code, refused.error.retryAfterS], [50301, 1]);
  const [begun] = scene.sessions();
  scene.records.outstanding = null;
  assert.equal(sessionIn((await scene.issue()).peerId), begun?.sessionId);
  assert.deepEqual(scene.counted(), [0, 1, 0, 1]);
});

test('a token that cannot be signed is 50000, and logged', async () => {
  const scene = new Scene();
  const broken = {
    get first(): never {
      throw new Error('no key');
    },
  };
  scene.deps = { ...scene.deps, keys: broken as unknown as TokenKeys };
  assert.equal(await scene.code(), 50000);
  assert.deepEqual(
    scene.log.lines.map(({ level, message }) => [level, message]),
    [['error', 'call credentials: not issued: registry or store unreadable; answered 50000']],
  );
  assert.deepEqual(scene.counted(), [0, 0, 0, 1]);
});

test('nothing secret is in a peer id, a token, a message or the log', async () => {
  const scene = new Scene();
  const answers = [await scene.ask()];
  const { claims } = await scene.issue();
  scene.directory.connectDevice(claims.sessionId, 'other' as TokenId, new FakeCallLeg());
  answers.push(await scene.ask({ media: otherMedia }));
  scene.registry.failure = new Error('gone');
  answers.push(await scene.ask());
  assert.deepEqual(
    answers.map((answer) => (answer.ok ? 0 : answer.error.code)),
    [0, 40903, 50000],
  );
  const [first] = answers;
  const token =
    first?.ok === true ? first.value.token.split('.').map((part) => Buffer.from(part, 'base64url')) : [];
  assert.equal(token.length, 3);
  const seen = [JSON.stringify(answers), ...token.map(String), JSON.stringify(scene.log.lines)].join('\n');
  assert.match(seen, /TESTDEVICE01/);
  assert.doesNotMatch(seen, /planted/);
});

const coordinator = 'node-b/0@1' as MemberId;

/** A locator with these answers only. */
function locate(scene: Scene, locator: Partial<CallLocator>): void {
  const never = {
    issuerOf: () => assert.fail('no node is sought'),
    ask: () => assert.fail('no member is asked'),
  };
  scene.deps = { ...scene.deps, callLocator: { ...never, ...locator } };
}

/** Another member issues all calls and gives this answer. */
function issuedElsewhere(
  scene: Scene,
  answer: Result<PeerAnswer<'issue-call'>, PeerFailure>,
): SignedCallOrder[] {
  const asked: SignedCallOrder[] = [];
  locate(scene, {
    issuerOf: async () => coordinator,
    ask: async <Kind extends PeerKind>(_: MemberId, question: PeerQuestion<Kind>) => {
      assert.ok(question.kind === 'issue-call');
      asked.push(question.order);
      return answer as never;
    },
  });
  return asked;
}

test('credentials name the media listener of the member that issues them, the peer id where it is set to', async () => {
  const scene = new Scene();
  const first = await scene.ask(scene.order());
  assert.ok(first.ok);
  assert.equal(first.value.mediaUrl, 'ws://media.example:8083');
  assert.doesNotMatch(first.value.peerId, /x_media/);
  assert.equal(scene.told[0]?.mediaUrl, 'ws://media.example:8083');
  scene.deps = { ...scene.deps, addressInPeerId: true };
  scene.mediaUrl = 'wss://10.0.0.5:9083';
  const second = await scene.ask(scene.order());
  assert.ok(second.ok);
  assert.match(second.value.peerId, /&x_media=wss%3A%2F%2F10\.0\.0\.5%3A9083$/);
  scene.mediaUrl = null;
  const third = await scene.ask(scene.order());
  assert.ok(third.ok);
  assert.deepEqual([third.value.mediaUrl, third.value.peerId], [null, first.value.peerId]);
});

test('credentials name the sound that cannot be converted for the device, also in a repeat', async () => {
  const scene = new Scene();
  const order = scene.order({ media: { ...callMedia, downAudio: 'amr', audioRate: 16_000 } });
  scene.soundEncoders = ['alaw', 'amr', 'opus', 'pcm'];
  const first = await scene.ask(order);
  const said =
    'success, but no sound is converted to amr of 16000 Hz here, for want of an encoder: the device hears what the bridge sends as amr';
  assert.equal(first.ok && first.value.note, said);
  assert.equal(scene.told[0]?.note, said);
  scene.soundEncoders = ['amr_wide'];
  const repeated = await scene.ask(order);
  assert.deepEqual(repeated, first);
});

for (const [name, encoders] of [
  ['can make', ['alaw']],
  ['is not known to lack', null],
] as const)
  test(`credentials have no note about sound that the media process ${name}`, async () => {
    const scene = new Scene();
    scene.soundEncoders = encoders;
    const answer = await scene.ask();
    assert.ok(answer.ok);
    assert.equal('note' in answer.value, false);
  });

test('a call is issued at the member that coordinates it', async () => {
  const scene = new Scene();
  const issued = succeed({ peerId: 'rtc://elsewhere', token: 'token', mediaUrl: 'ws://node-b.example' });
  const asked = issuedElsewhere(scene, succeed(issued));
  const order = scene.order();
  assert.deepEqual(await scene.ask(order), issued);
  assert.deepEqual(asked, [order]);
  assert.equal(scene.directory.size, 0);
});

test('a refusal of the coordinator is passed on in its words', async () => {
  const scene = new Scene();
  const refused = fail(refusal(40903));
  issuedElsewhere(scene, succeed(refused));
  assert.deepEqual(await scene.ask(), refused);
});

for (const failure of ['nobody', 'unsent', 'unanswered'] as const)
  test(`a coordinator that does not answer (${failure}) is 50301`, async () => {
    const scene = new Scene();
    issuedElsewhere(scene, fail(failure));
    assert.equal(await scene.code(), 50301);
  });

test('an unknown coordinator is 50301, and nothing is issued', async () => {
  const scene = new Scene();
  locate(scene, { issuerOf: () => 'unavailable' });
  assert.equal(await scene.code(), 50301);
  assert.equal(scene.directory.size, 0);
});

test('a caller without access is refused before any member is asked', async () => {
  const scene = new Scene();
  const asked = issuedElsewhere(scene, fail('nobody'));
  assert.equal(await scene.code({ deviceId: 'NOSUCHDEVICE' as DeviceId }), 40403);
  assert.deepEqual(asked, []);
});

const signature = 'ab'.repeat(32);

test('a repeated signature is answered like the first while its session lives', async () => {
  const scene = new Scene();
  const first = await scene.ask({ signature });
  scene.clock.advance(20_000);
  await scene.ask();
  assert.deepEqual(await scene.ask({ signature }), first);
  assert.equal(scene.sessions().length, 1);
  assert.equal(scene.telemetry.count('credentials repeated'), 1);
});

test('a repeated signature opens no other call once its own has ended', async () => {
  const scene = new Scene();
  const { claims } = await scene.issue({ signature });
  scene.directory.end(claims.sessionId, 'hangup_device');
  const again = await scene.ask({ signature });
  assert.ok(!again.ok);
  assert.equal(again.error.code, 40903);
  assert.match(again.error.message, /answered before, and its call has ended: sign a new request/);
  assert.equal(scene.directory.size, 0);
  assert.notEqual((await scene.issue()).claims.sessionId, claims.sessionId, 'a new request opens one');
  assert.equal(await scene.code({ signature }), 40903, 'nor is it answered for the new one');
});

test('a session with an expired lease is not live, even before the wheel ends it', async () => {
  const scene = new Scene();
  await scene.issue({ signature, callingTimeoutS: 30, signatureExpiresMs: scene.clock.wallMs() + 300_000 });
  scene.clock.advance(90_000);
  assert.equal(await scene.code({ signature }), 40903);
});

test('a repeat of a request in progress joins it', async () => {
  const scene = new Scene();
  let commit = (): void => undefined;
  scene.records.outstanding = new Promise((resolve) => (commit = resolve));
  const both = [scene.ask({ signature }), scene.ask({ signature })];
  commit();
  const [first, second] = await Promise.all(both);
  assert.equal(first?.ok, true);
  assert.deepEqual(second, first);
  assert.deepEqual(scene.counted(), [1, 0, 0, 0]);
});

test('an answer that asks for a retry is not kept: the same request is executed again', async () => {
  const scene = new Scene();
  scene.draining = true;
  assert.equal(await scene.code({ signature }), 50301);
  scene.draining = false;
  const { keys: good } = scene.deps;
  scene.deps = { ...scene.deps, keys: {} as TokenKeys };
  assert.equal(await scene.code({ signature }), 50000);
  scene.deps = { ...scene.deps, keys: good };
  assert.equal(await scene.code({ signature }), 0);
});

test('a request that was refused for the media in use stays refused', async () => {
  const scene = new Scene();
  const { claims } = await scene.issue();
  scene.directory.connectDevice(claims.sessionId, claims.tokenId, new FakeCallLeg());
  assert.equal(await scene.code({ signature, media: otherMedia }), 40903);
  scene.directory.end(claims.sessionId, 'hangup_device');
  assert.equal(await scene.code({ signature, media: otherMedia }), 40903);
  assert.equal(scene.directory.size, 0);
});

test('a full memory of signatures is 42901 and drops nothing; a repeat is answered', async () => {
  const scene = new Scene(1000, 2);
  const first = await scene.ask({ signature });
  await scene.ask();
  const answer = await scene.ask();
  assert.ok(!answer.ok);
  assert.deepEqual([answer.error.code, answer.error.retryAfterS], [42901, 1]);
  assert.deepEqual(await scene.ask({ signature }), first);
  scene.clock.advance(301_000);
  assert.equal(await scene.code(), 0, 'what its date refuses need not be known');
});

test('a repeat without access is refused', async () => {
  const scene = new Scene();
  await scene.ask({ signature });
  scene.registry.addDevice({ disabled: true });
  assert.equal(await scene.code({ signature }), 40403);
});

test('a repeat of a call issued by another member is recognised, and opens no call here', async () => {
  const [one, other] = [new Scene(), new Scene()];
  const first = await one.ask({ signature });
  const [told] = one.told;
  assert.ok(told !== undefined && first.ok);
  assert.equal(told.token, first.value.token);
  other.deps.issued.recordIssued(told);
  assert.equal(await other.code({ signature }), 40903);
  assert.deepEqual([other.directory.size, other.told], [0, []]);
});

test('an application that lost the device while its coordinator was located is issued nothing', async () => {
  const scene = new Scene();
  locate(scene, {
    issuerOf: async (): Promise<'here'> => {
      scene.registry.addDevice({ disabled: true });
      return 'here';
    },
  });
  assert.equal(await scene.code(), 40403);
  assert.equal(scene.directory.size, 0);
});
