/** A connection that one media listener passes on to another, where its call is. Source: calls-and-media.md, The media process. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { LegPlace } from '../../src/core/ports/leg-service.ts';
import { ForwardedLeg } from '../../src/media/legs/forwarded-leg.ts';
import type { UpgradeRequest } from '../../src/media/legs/upgrade-request.ts';
import { legLingerMsMax } from '../../src/model/limits.ts';
import { FakeMediaListenerContext } from '../support/fake-media-listener-context.ts';
import { FakeRelay } from '../support/fake-relay.ts';
import { MediaListenerScene } from '../support/media-listener-scene.ts';
import { downlinkPath, plainRequest } from '../support/media-peer.ts';

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn();
}

function placeAt(port: number): LegPlace {
  return { host: '127.0.0.1', port, certificate: null, origin: `http://127.0.0.1:${port}` };
}

async function openTwo(t: TestContext): Promise<Record<'here' | 'there', MediaListenerScene<FakeRelay>>> {
  const [here, there] = [
    new MediaListenerScene(new FakeRelay()),
    new MediaListenerScene(new FakeRelay()),
  ] as const;
  for (const scene of [here, there]) {
    t.after(() => scene.close());
    await scene.listen();
  }
  here.service.refusals.set('good-token', placeAt(there.port));
  return { here, there };
}

test('a device that speaks HTTP/1.0, and sends a body, has its stream as it would where its call is', async (t) => {
  const { here, there } = await openTwo(t);
  const headers = { Authorization: 'Bearer good-token', 'Content-Length': '2' };
  const request = plainRequest(`GET ${downlinkPath}`, headers).replace('HTTP/1.1', 'HTTP/1.0');
  const device = await here.rawPeer(`${request}{}`);
  let received = '';
  device.socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  const { leg } = await there.service.leg();
  await until(() => received.includes('\r\n\r\n'));
  assert.doesNotMatch(received, /Transfer-Encoding/i, 'such a device reads no chunks');
  assert.deepEqual([here.listener.legCount, here.listener.socketCount], [1, 2], 'it holds two descriptors');
  leg.close('ended');
  await device.gone;
  await until(() => here.listener.legCount + here.listener.socketCount === 0);
});

/** A client to which nothing goes any more. */
class StuckClient extends Duplex {
  override _read(): void {}
  override _write(): void {}
  destroySoon(): void {}
}

test('a client that does not read the rest is cut when the process of its call has hung up', async (t) => {
  const process = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
  t.after(() => process.close());
  await once(process, 'listening');
  const context = new FakeMediaListenerContext();
  const client = new StuckClient();
  const request = {
    request: { socket: client },
    isAsking: false,
    forward: (there: Socket) => there.pipe(client),
    cut: () => client.destroy(),
  } as unknown as UpgradeRequest;
  const { port } = process.address() as AddressInfo;
  void new ForwardedLeg(request, placeAt(port), context, () => assert.fail('it was reached'));
  assert.deepEqual([context.legs.size, context.forwarded.size], [1, 1]);
  await until(() => context.leaving.size === 1);
  assert.deepEqual([context.legs.size, context.forwarded.size], [0, 0]);
  context.clock.advance(legLingerMsMax);
  assert.ok(client.destroyed);
  await until(() => context.leaving.size === 0);
});
