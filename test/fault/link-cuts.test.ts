/**
 * Breaks the link at each Nth message of a complete run: no leg stays open at either end, no caller waits forever, and each end is
 * notified once.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Result } from '../../src/lib/result.ts';
import type { AdmissionRefusal } from '../../src/core/ports/leg-service.ts';
import type { CallLeg } from '../../src/core/ports/leg-service.ts';
import { progress } from '../support/call-scene.ts';
import { bridgeKey, LegServiceScene } from '../support/leg-service-scene.ts';
import { FakeCallLeg } from '../support/fakes.ts';
import { LinkedLegService } from '../support/linked-leg-service.ts';

interface Connected<Open> {
  readonly leg: FakeCallLeg;
  readonly open: Open | null;
}

/** `open` is null if the link was broken by then. */
async function connect<Admission, Open>(
  link: LinkedLegService,
  asked: Promise<Result<Admission, AdmissionRefusal>>,
  openAt: (admission: Admission, leg: CallLeg) => Open | null,
): Promise<Connected<Open>> {
  const admission = await asked;
  const leg = new FakeCallLeg();
  const open = admission.ok ? openAt(admission.value, leg) : null;
  await link.untilIdle();
  return { leg, open };
}

/** A call with all kinds of legs, another bridge that waits, views, counters and log lines; its legs are open at the end. */
async function runCall(scene: LegServiceScene, link: LinkedLegService): Promise<Connected<unknown>[]> {
  await link.ready();
  const { service, log, telemetry } = link.media;
  const { call, token } = await scene.newCall();
  const openBridge = service.openBridgeLeg.bind(service);
  const waiting = await connect(link, service.admitBridge(bridgeKey, null), openBridge);
  waiting.open?.answerAssignment(true);
  await link.untilIdle();
  const idle = await connect(link, service.admitBridge(bridgeKey, null), openBridge);
  const device = await connect(link, service.admitDevice(token), service.openDeviceLeg.bind(service));
  const viewer = await connect(
    link,
    service.admitViewer(scene.ticket(call)),
    service.openViewer.bind(service),
  );
  device.open?.report(progress('attempting'));
  waiting.open?.report(progress('connected'));
  device.open?.alive('media');
  telemetry.mediaFrames('encoded', 1);
  log.info({}, 'a line');
  await link.untilIdle();
  const seen = link.server.view(call);
  link.server.updateKeys();
  await link.pass(2000);
  assert.equal(await seen, null);
  const passing = await connect(
    link,
    service.admitViewer(scene.ticket(call)),
    service.openViewer.bind(service),
  );
  passing.open?.disconnected();
  await link.untilIdle();
  return [waiting, idle, device, viewer];
}

const nobody = { device: 0, bridge: 0, idle_bridge: 0, viewer: 0 };

test('a link that breaks at any message leaves no leg open', async () => {
  const scene = new LegServiceScene();
  const whole = new LinkedLegService(scene);
  const open = await runCall(scene, whole);
  assert.deepEqual(scene.service.counts(), { device: 1, bridge: 1, idle_bridge: 1, viewer: 1 });
  assert.deepEqual([open.length, whole.serverEnds, whole.mediaEnds], [4, [], []]);
  const { writes } = whole.pair;
  assert.ok(writes > 30, `a run has only ${writes} messages`);
  for (let breaksAt = 1; breaksAt <= writes; breaksAt += 1) await runBroken(breaksAt);
});

async function runBroken(breaksAt: number): Promise<void> {
  const scene = new LegServiceScene();
  const link = new LinkedLegService(scene, { breaksAt });
  const legs = await runCall(scene, link);
  const at = `broken at message ${breaksAt}`;
  assert.deepEqual(scene.service.counts(), nobody, at);
  for (const { leg, open } of legs)
    assert.equal(leg.closes.length, open === null ? 0 : 1, `${at}: a leg was closed ${leg.closes.join()}`);
  assert.deepEqual([link.serverEnds.length, link.mediaEnds.length], [1, 1], at);
  scene.clock.advance(3000);
  assert.equal(scene.clock.pendingTimers, 1, `${at}: only the wheel turns`);
}
