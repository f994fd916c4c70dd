/** Conformance of the port LegService: in the server, and in a media process over its link. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallReport, LegRefusal } from '../../src/model/call.ts';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import type {
  AdmissionRefusal,
  LegService,
  OpenBridgeLeg,
  OpenDeviceLeg,
  OpenViewer,
} from '../../src/core/ports/leg-service.ts';
import { callMedia, callRoom, legWords, progress } from '../support/call-scene.ts';
import {
  admitted,
  bridgeKey,
  LegServiceScene,
  developmentKeys,
  refusal,
} from '../support/leg-service-scene.ts';
import { FakeCallLeg } from '../support/fakes.ts';
import { LinkedLegService } from '../support/linked-leg-service.ts';

const hangup: CallReport = { kind: 'end', reason: 'hangup_device' };

/** A scene and the leg service under test. Calls of it may take a turn of the loop to arrive. */
interface Gateways {
  readonly scene: LegServiceScene;
  readonly service: LegService;
  readonly flush: () => Promise<void>;
  readonly pass: (ms: number) => Promise<void>;
}

const implementations: Record<string, () => Promise<Gateways>> = {
  'in the server': () => {
    const scene = new LegServiceScene();
    return Promise.resolve({
      scene,
      service: scene.service,
      flush: () => Promise.resolve(),
      pass: (ms) => Promise.resolve(scene.clock.advance(ms)),
    });
  },
  'over the link': () => linked(Infinity),
  'over a link that cuts all into pieces': () => linked(7),
};

async function linked(pieceBytesMax: number): Promise<Gateways> {
  const scene = new LegServiceScene();
  const link = await new LinkedLegService(scene, { pieceBytesMax }).ready();
  const { service } = link.media;
  return { scene, service, flush: () => link.untilIdle(), pass: (ms) => link.pass(ms) };
}

interface Connected<Leg> {
  readonly leg: FakeCallLeg;
  /** Null: refused at once because the call has ended. */
  readonly open: Leg | null;
}

async function connectDevice({ service, flush }: Gateways, token: string): Promise<Connected<OpenDeviceLeg>> {
  const leg = new FakeCallLeg();
  const open = service.openDeviceLeg(admitted(await service.admitDevice(token)), leg);
  await flush();
  return { leg, open };
}

async function connectBridge(
  { service, flush }: Gateways,
  session: SessionId | null = null,
  key = bridgeKey,
): Promise<Connected<OpenBridgeLeg>> {
  const leg = new FakeCallLeg();
  const open = service.openBridgeLeg(admitted(await service.admitBridge(key, session)), leg);
  await flush();
  return { leg, open };
}

async function connectViewer(
  { scene, service, flush }: Gateways,
  call: SessionId,
): Promise<Connected<OpenViewer>> {
  const leg = new FakeCallLeg();
  const open = service.openViewer(admitted(await service.admitViewer(scene.ticket(call))), leg);
  await flush();
  return { leg, open };
}

/** True if a late leg was refused at once, or closed as `ended`. */
function isTurnedAway({ leg, open }: Connected<unknown>): boolean {
  return open === null ? leg.closes.length === 0 : leg.closes.join() === 'ended';
}

const nobody = { device: 0, bridge: 0, idle_bridge: 0, viewer: 0 };

for (const [name, make] of Object.entries(implementations)) {
  test(`${name}: in a call from offer to end, each leg learns of the other's actions, and both are closed`, async () => {
    const front = await make();
    const { scene, flush } = front;
    const bridge = await connectBridge(front);
    const { call, token } = await scene.newCall();
    bridge.open?.answerAssignment(true);
    const device = await connectDevice(front, token);
    bridge.open?.report(progress('ringing'));
    await flush();
    device.open?.report(progress('attempting'));
    await flush();
    bridge.open?.report(progress('connected'), call);
    await flush();
    device.open?.report(hangup);
    await flush();
    assert.deepEqual(legWords(bridge.leg), [
      'assign',
      'start',
      'attempting',
      'ended hangup_device',
      'closed ended',
    ]);
    assert.deepEqual(legWords(device.leg), ['ringing', 'connected', 'closed ended']);
    assert.deepEqual(scene.callEvents(call), [
      'started establishing',
      'state ringing',
      'state attempting',
      'state connected',
      'ended hangup_device',
    ]);
    assert.deepEqual(scene.service.counts(), nobody);
  });

  test(`${name}: the call directory has all reports once they are delivered`, async () => {
    const { scene, service } = await make();
    const { call, token } = await scene.newCall();
    service.openDeviceLeg(admitted(await service.admitDevice(token)), new FakeCallLeg());
    await service.flush();
    assert.equal(scene.directory.find(call)?.state, 'establishing');
  });

  test(`${name}: a call that its media process cannot carry waits, and is offered again when that reports its load`, async () => {
    const front = await make();
    const { scene, flush } = front;
    const bridge = await connectBridge(front);
    const { call } = await scene.newCall();
    bridge.open?.cannotCarry('load');
    await flush();
    assert.equal(scene.pool.waitsFor(call), 'load');
    scene.pool.offerAgain(0);
    bridge.open?.answerAssignment(true);
    await flush();
    assert.deepEqual(legWords(bridge.leg), ['assign', 'assign', 'start']);
  });

  test(`${name}: a bridge receives complete messages`, async () => {
    const front = await make();
    const bridge = await connectBridge(front);
    const { call } = await front.scene.newCall();
    bridge.open?.answerAssignment(true);
    await front.flush();
    const request = { width: 320, height: 240, rotation: 0, maxFps: 15 };
    assert.deepEqual(bridge.leg.messages, [
      { kind: 'assign', sessionId: call, media: callMedia },
      { kind: 'start', sessionId: call, room: callRoom, request, media: callMedia },
    ]);
  });

  test(`${name}: admissions have the same values`, async () => {
    const { scene, service } = await make();
    const { call, token } = await scene.newCall();
    const device = admitted(await service.admitDevice(token));
    assert.deepEqual(device, admitted(await scene.service.admitDevice(token)));
    const bridge = admitted(await service.admitBridge(bridgeKey, call));
    assert.deepEqual(bridge, admitted(await scene.service.admitBridge(bridgeKey, call)));
    const developer = admitted(await service.admitBridge(developmentKeys[0] ?? '', null));
    assert.deepEqual([developer.bridgeId, developer.sessionId], ['dev-1', null]);
    assert.deepEqual(admitted(await service.admitViewer(scene.ticket(call))), { sessionId: call });
  });

  test(`${name}: a rejected leg receives the reason`, async () => {
    const { scene, service } = await make();
    const { call, token } = await scene.newCall();
    const expired = scene.token(call, { expiresAtS: 1 });
    const ofAnotherDevice = scene.token(call, { deviceId: 'D2' as DeviceId });
    const ofNoSession = scene.token(call, { sessionId: 'session' as SessionId });
    const long = 'x'.repeat(100_000);
    const seen: (AdmissionRefusal | null)[] = [];
    for (const shown of ['', 'a.b.c', long, `${token.slice(0, -43)}${'A'.repeat(43)}`])
      seen.push(await refusal(service.admitDevice(shown)));
    for (const shown of [expired, ofAnotherDevice, ofNoSession])
      seen.push(await refusal(service.admitDevice(shown)));
    for (const key of ['', 'guessed', long]) seen.push(await refusal(service.admitBridge(key, null)));
    for (const session of ['', 'guessed', long])
      seen.push(await refusal(service.admitBridge(bridgeKey, session)));
    for (const ticket of ['', 'guessed', long]) seen.push(await refusal(service.admitViewer(ticket)));
    assert.deepEqual(seen, [
      ...(['malformed', 'malformed', 'malformed', 'signature'] as const),
      ...(['expired', 'device', 'session_ended'] as const),
      ...Array<LegRefusal>(3).fill('bridge_key'),
      ...Array<LegRefusal>(3).fill('unknown_session'),
      ...Array<LegRefusal>(3).fill('ticket'),
    ]);
  });

  test(`${name}: a bridge that refuses stays idle, and a lost one is replaced by the next`, async () => {
    const front = await make();
    const bridges = [await connectBridge(front), await connectBridge(front), await connectBridge(front)];
    await front.scene.newCall();
    await front.flush();
    bridges[0]?.open?.answerAssignment(false);
    await front.flush();
    bridges[1]?.open?.disconnected();
    await front.flush();
    bridges[2]?.open?.answerAssignment(true);
    await front.flush();
    assert.deepEqual(
      bridges.map(({ leg }) => legWords(leg)),
      [['assign'], ['assign'], ['assign', 'start']],
    );
    assert.deepEqual(front.scene.service.counts(), { ...nobody, bridge: 1, idle_bridge: 1 });
  });

  test(`${name}: a second device or bridge replaces the first, whose later reports are stray`, async () => {
    const front = await make();
    const { scene } = front;
    const { call, token } = await scene.newCall();
    const bridges = [await connectBridge(front, call), await connectBridge(front, call)];
    const devices = [await connectDevice(front, token), await connectDevice(front, token)];
    assert.deepEqual(
      [...bridges, ...devices].map(({ leg }) => leg.closes),
      [['replaced'], [], ['replaced'], []],
    );
    for (const [first] of [bridges, devices]) {
      first?.open?.report(hangup);
      first?.open?.disconnected();
    }
    await front.flush();
    assert.equal(scene.state(call), 'establishing');
    assert.equal(scene.directory.hasBridge(call), true);
    assert.deepEqual(scene.service.counts(), { ...nobody, device: 1, bridge: 1 });
  });

  for (const side of ['device', 'bridge'] as const)
    test(`${name}: media of the ${side} keep a call alive, and without them the call is lost`, async () => {
      const front = await make();
      const { scene } = front;
      const { call, token } = await scene.newCall();
      const { leg, open } =
        side === 'device' ? await connectDevice(front, token) : await connectBridge(front, call);
      for (let sent = 0; sent < 4; sent += 1) {
        await front.pass(30_000);
        open?.alive('media');
        open?.alive('ping');
        await front.flush();
      }
      assert.equal(scene.state(call), 'establishing');
      await front.pass(36_000);
      assert.deepEqual(leg.closes, ['ended']);
      assert.equal(scene.telemetry.count('call end lost'), 1);
    });

  test(`${name}: a report that names another session is ignored, and counted`, async () => {
    const front = await make();
    const { call } = await front.scene.newCall();
    const { open } = await connectBridge(front, call);
    for (const about of ['another', 'x'.repeat(16_384)]) open?.report(progress('ringing'), about);
    await front.flush();
    assert.equal(front.scene.state(call), 'establishing');
    assert.equal(front.scene.telemetry.count('call report stray'), 2);
    open?.report(progress('ringing'), null);
    await front.flush();
    assert.equal(front.scene.state(call), 'ringing');
  });

  test(`${name}: reports of one leg are applied in order`, async () => {
    const front = await make();
    const { call, token } = await front.scene.newCall();
    const { open } = await connectDevice(front, token);
    for (const state of ['ringing', 'attempting', 'connected'] as const) open?.report(progress(state));
    open?.report(hangup);
    await front.flush();
    assert.deepEqual(front.scene.callEvents(call), [
      'started establishing',
      'state ringing',
      'state attempting',
      'state connected',
      'ended hangup_device',
    ]);
  });

  test(`${name}: a session that ends between admission and opening opens no leg`, async () => {
    const { scene, service, flush } = await make();
    const { call, token } = await scene.newCall();
    const device = admitted(await service.admitDevice(token));
    const bridge = admitted(await service.admitBridge(bridgeKey, call));
    const viewer = admitted(await service.admitViewer(scene.ticket(call)));
    scene.directory.end(call, 'cancelled');
    const legs = [new FakeCallLeg(), new FakeCallLeg(), new FakeCallLeg()] as const;
    const connected = [
      { leg: legs[0], open: service.openDeviceLeg(device, legs[0]) },
      { leg: legs[1], open: service.openBridgeLeg(bridge, legs[1]) },
      { leg: legs[2], open: service.openViewer(viewer, legs[2]) },
    ];
    await flush();
    assert.deepEqual(connected.map(isTurnedAway), [true, true, true]);
    assert.deepEqual(scene.service.counts(), nobody);
  });

  test(`${name}: a leg that closes before it is open leaves nothing`, async () => {
    const { scene, service, flush } = await make();
    const { call, token } = await scene.newCall();
    const leg = new FakeCallLeg();
    service.openDeviceLeg(admitted(await service.admitDevice(token)), leg)?.disconnected();
    service.openBridgeLeg(admitted(await service.admitBridge(bridgeKey, null)), leg)?.disconnected();
    service.openViewer(admitted(await service.admitViewer(scene.ticket(call))), leg)?.disconnected();
    await flush();
    assert.deepEqual(scene.service.counts(), nobody);
  });

  test(`${name}: a revoked bridge is closed, and its leg receives nothing more`, async () => {
    const front = await make();
    const { call } = await front.scene.newCall();
    const bridges = [await connectBridge(front, call), await connectBridge(front)];
    front.scene.addBridge({ revoked: true });
    front.scene.service.registryChanged();
    await front.flush();
    for (const { leg, open } of bridges) {
      assert.deepEqual(leg.closes, ['revoked']);
      open?.disconnected();
    }
    front.scene.directory.end(call, 'cancelled');
    await front.flush();
    assert.deepEqual(
      bridges.map(({ leg }) => legWords(leg)),
      [
        ['start', 'closed revoked'],
        ['assign', 'closed revoked'],
      ],
    );
  });

  test(`${name}: a call admits two viewers, and a third once one of them leaves`, async () => {
    const front = await make();
    const { scene, service, flush } = front;
    const { call, token } = await scene.newCall();
    const first = await connectViewer(front, call);
    const early = admitted(await service.admitViewer(scene.ticket(call)));
    await connectViewer(front, call);
    const leg = new FakeCallLeg();
    const late = { leg, open: service.openViewer(early, leg) };
    await flush();
    assert.ok(isTurnedAway(late));
    assert.equal(await refusal(service.admitViewer(scene.ticket(call))), 'viewers');
    await connectDevice(front, token);
    assert.deepEqual(legWords(first.leg), ['establishing']);
    first.open?.disconnected();
    first.open?.disconnected();
    await flush();
    await connectViewer(front, call);
    assert.equal(scene.service.counts().viewer, 2);
  });

  test(`${name}: a ticket is valid once, and for a live session`, async () => {
    const { scene, service } = await make();
    const { call } = await scene.newCall();
    const [ticket, late] = [scene.ticket(call), scene.ticket(call)];
    assert.equal(await refusal(service.admitViewer(ticket)), null);
    assert.equal(await refusal(service.admitViewer(ticket)), 'ticket');
    scene.directory.end(call, 'cancelled');
    assert.equal(await refusal(service.admitViewer(late)), 'ticket');
  });

  test(`${name}: a drain closes every leg and admits none, and the calls stay`, async () => {
    const front = await make();
    const { scene, service, flush } = front;
    const { call, token } = await scene.newCall();
    const legs = [
      await connectBridge(front, call),
      await connectBridge(front),
      await connectDevice(front, token),
      await connectViewer(front, call),
    ];
    const early = admitted(await service.admitBridge(bridgeKey, null));
    const earlyDevice = admitted(await service.admitDevice(token));
    const earlyViewer = admitted(await service.admitViewer(scene.ticket(call)));
    scene.service.drain();
    const late = [new FakeCallLeg(), new FakeCallLeg(), new FakeCallLeg()] as const;
    const connected = [
      { leg: late[0], open: service.openBridgeLeg(early, late[0]) },
      { leg: late[1], open: service.openDeviceLeg(earlyDevice, late[1]) },
      { leg: late[2], open: service.openViewer(earlyViewer, late[2]) },
    ];
    await flush();
    for (const { leg } of legs) assert.deepEqual(leg.closes, ['drain']);
    assert.deepEqual(connected.map(isTurnedAway), [true, true, true]);
    assert.equal(await refusal(service.admitDevice(token)), 'unavailable');
    assert.equal(await refusal(service.admitBridge(bridgeKey, null)), 'unavailable');
    assert.equal(await refusal(service.admitViewer(scene.ticket(call))), 'unavailable');
    assert.deepEqual(scene.service.counts(), nobody);
    assert.deepEqual(scene.callEvents(call), ['started establishing']);
    assert.equal(scene.state(call), 'establishing');
  });
}
