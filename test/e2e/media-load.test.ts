/**
 * A call that the media process has no time for waits, and is offered again when there is some: with a real worker, of which
 * one call alone is counted with more than calls may take. Source: calls-and-media.md, Legs.
 */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { issueCall } from '../support/call-actions.ts';
import { h264Film } from '../support/coded-frames.ts';
import { metric, metricsOf } from '../support/driven-server.ts';
import { engineTest } from '../support/engine-test.ts';
import { bridgePath, MediaPeer, MediaRefused } from '../support/media-peer.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import { developmentKey, textOf, videoFormats, wireFrame } from '../support/wire-call.ts';

const large = { screen_width: 640, screen_height: 480 };

/** It stands idle, and takes the call that it is offered when `take` is called. */
async function idleBridge(
  t: TestContext,
  { ports }: TestServer,
): Promise<{ readonly leg: MediaPeer; readonly take: () => Promise<unknown> }> {
  const leg = await MediaPeer.connect(ports.media, { path: bridgePath, bearer: developmentKey });
  t.after(() => leg.socket.terminate());
  const take = async (): Promise<unknown> => {
    const { session } = await textOf(leg, 'assign');
    leg.send(JSON.stringify({ type: 'accept' }));
    await textOf(leg, 'start');
    return session;
  };
  return { leg, take };
}

async function waitingForLoad(server: TestServer): Promise<number | null> {
  return metric(await metricsOf(server), 'reveille_calls_waiting{for="load"}');
}

engineTest(
  'a call that load refuses is offered to its bridge again when another has ended',
  async (engine, t) => {
    const server = await startTestServer({
      media: 'child',
      overrides: [
        `media.bridge_keys=${developmentKey}`,
        'media.workers=1',
        'media.load_max=0.05',
        'media.max_fps=60',
      ],
    });
    t.after(() => server.stop());
    const { media: port } = server.ports;
    const first = await idleBridge(t, server);
    const carried = await issueCall(server, large);
    assert.equal(await first.take(), carried.session);
    const device = await MediaPeer.connect(port, { bearer: carried.token });
    const second = await idleBridge(t, server);
    const waiting = await issueCall(server, { ...large, device_id: 'SLEEPING01' });
    while ((await waitingForLoad(server)) !== 1);
    const refused = MediaPeer.connect(port, { bearer: waiting.token });
    await assert.rejects(refused, (error) => error instanceof MediaRefused && error.status === 503);
    device.send(JSON.stringify({ type: 'hangup', reason: 1 }));
    assert.equal(await second.take(), waiting.session);
    assert.equal(await waitingForLoad(server), 0);
    const served = await MediaPeer.connect(port, { bearer: waiting.token });
    t.after(() => served.socket.terminate());
    const [frame] = h264Film(engine, { width: 240, height: 320 }, 1);
    assert(frame !== undefined);
    second.leg.send(wireFrame({ format: videoFormats.h264, flags: 1 }, frame.payload));
    await served.framesCome(1);
  },
);
