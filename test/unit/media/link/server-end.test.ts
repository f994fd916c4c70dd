import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { SessionId } from '../../../../src/model/ids.ts';
import { linkGrantsMax } from '../../../../src/model/limits.ts';
import {
  linkVersion,
  readServerMessage,
  type MediaMessage,
  type ServerMessage,
} from '../../../../src/protocol/media-link/link-message.ts';
import type { ServerEnd } from '../../../../src/media/link/server-end.ts';
import type { CoreLegService } from '../../../../src/core/ports/leg-service.ts';
import { linkFrame, LinkFrames } from '../../../support/link-frames.ts';
import { progress } from '../../../support/call-scene.ts';
import { bridgeKey, LegServiceScene } from '../../../support/leg-service-scene.ts';
import { FakeLegService } from '../../../support/fake-leg-service.ts';
import { DuplexPair } from '../../../support/duplex-pair.ts';
import { openServerEnd } from '../../../support/linked-leg-service.ts';

/** A media process that sends arbitrary messages, and a server that receives them. */
class Stranger {
  readonly scene = new LegServiceScene();
  readonly heard: ServerMessage[] = [];
  readonly ends: (string | null)[] = [];
  readonly server: ServerEnd;
  readonly #pair = new DuplexPair();

  constructor(service?: CoreLegService) {
    const onEnd = (fault: string | null): number => this.ends.push(fault);
    this.server = openServerEnd(this.#pair.here, this.scene, {
      service: service ?? this.scene.service,
      onEnd,
    });
    const reader = new LinkFrames(readServerMessage);
    this.#pair.there.on('data', (chunk: Buffer) => {
      for (const read of reader.feed(chunk)) if (read.ok) this.heard.push(read.value);
    });
    this.#pair.there.write(linkFrame({ kind: 'hello', version: linkVersion, instance: 'media-1' }));
  }

  async send(...messages: MediaMessage[]): Promise<void> {
    for (const message of messages) this.#pair.there.write(linkFrame(message));
    for (let turn = 0; turn < 3; turn += 1) await setImmediate();
  }

  /** Numbers of the admitted legs, in the order in which they were asked. */
  get granted(): number[] {
    return this.heard.flatMap((message) => (message.kind === 'admitted' ? [message.leg] : []));
  }

  get closed(): number[] {
    return this.heard.flatMap((message) => (message.kind === 'close' ? [message.leg] : []));
  }

  get counts(): ReturnType<LegServiceScene['service']['counts']> {
    return this.scene.service.counts();
  }
}

const askBridge: MediaMessage = { kind: 'admit-bridge', question: 1, key: bridgeKey, sessionId: null };

test('nothing is opened that was not granted', async () => {
  const stranger = new Stranger();
  await stranger.send({ kind: 'open', leg: 1 }, { kind: 'open', leg: 0 });
  assert.deepEqual([stranger.closed, stranger.ends], [[1, 0], []]);
  assert.equal(stranger.counts.idle_bridge, 0);
});

test('a leg that is opened twice ends the link, and the leg with it', async () => {
  const stranger = new Stranger();
  await stranger.send(askBridge);
  const [leg = 0] = stranger.granted;
  await stranger.send({ kind: 'open', leg });
  assert.equal(stranger.counts.idle_bridge, 1);
  await stranger.send({ kind: 'open', leg });
  assert.deepEqual(stranger.ends, ['the media process opened a leg twice']);
  assert.equal(stranger.counts.idle_bridge, 0);
});

test('the oldest of too many pending admissions is dropped', async () => {
  const stranger = new Stranger();
  await stranger.send(askBridge);
  for (let n = 0; n < linkGrantsMax; n += 1000)
    await stranger.send(...Array.from({ length: 1000 }, () => askBridge));
  const [first = 0, second = 0] = stranger.granted;
  assert.equal(stranger.granted.length, linkGrantsMax + 1);
  await stranger.send({ kind: 'open', leg: first }, { kind: 'open', leg: second });
  assert.deepEqual([stranger.closed, stranger.counts.idle_bridge], [[first], 1]);
});

test('a message about an unknown leg changes nothing', async () => {
  const stranger = new Stranger();
  await stranger.send(
    { kind: 'report', leg: 5, report: progress('ringing'), about: null },
    { kind: 'answer', leg: 5, accepted: true },
    { kind: 'alive', leg: 5, by: 'media' },
    { kind: 'gone', leg: 5 },
  );
  assert.deepEqual(stranger.ends, []);
});

test('a viewer may report nothing, and a device is offered no call', async () => {
  for (const word of ['viewer', 'device'] as const) {
    const stranger = new Stranger();
    const { call, token } = await stranger.scene.newCall();
    const ticket = stranger.scene.ticket(call);
    await stranger.send(
      word === 'viewer'
        ? { kind: 'admit-viewer', question: 1, ticket }
        : { kind: 'admit-device', question: 1, token },
    );
    while (stranger.granted.length === 0) await setImmediate();
    const [leg = 0] = stranger.granted;
    await stranger.send({ kind: 'open', leg }, { kind: 'answer', leg, accepted: true });
    const fault =
      word === 'viewer'
        ? 'sent a message of a viewer, which may send none'
        : 'answered an assignment for a device';
    assert.deepEqual(stranger.ends, [`the media process ${fault}`]);
  }
});

test('an answer that comes after the end of the link grants nothing', async () => {
  const service = new FakeLegService();
  const answer = service.withhold();
  const stranger = new Stranger(service);
  await stranger.send({ kind: 'admit-device', question: 1, token: 'good-token' });
  await stranger.server.end();
  answer();
  await stranger.send();
  assert.deepEqual(service.asked, ['good-token']);
  assert.deepEqual([stranger.granted, stranger.ends], [[], [null]]);
  assert.equal(await stranger.server.view('s' as SessionId), null);
});
