import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { Channel, type ChannelEnd } from '../../../src/lib/link/channel.ts';
import { encodeLengthFrame } from '../../../src/lib/link/length-frame.ts';
import { DrivenClock } from '../../support/driven-clock.ts';
import { DuplexPair, type DuplexPairOptions } from '../../support/duplex-pair.ts';

const endMsMax = 1000;

class ChannelScene {
  readonly clock = new DrivenClock();
  readonly pair: DuplexPair;
  readonly channel: Channel;
  /** The hello in brackets. */
  readonly received: string[] = [];
  readonly ends: ChannelEnd[] = [];
  drains = 0;
  written = Buffer.alloc(0);

  constructor(options: DuplexPairOptions = {}) {
    this.pair = new DuplexPair(options);
    this.pair.there.on('data', (chunk: Buffer) => (this.written = Buffer.concat([this.written, chunk])));
    this.pair.there.on('error', () => undefined);
    this.channel = new Channel(this.pair.here, {
      clock: this.clock,
      messageBytesMax: 10,
      queueBytesMax: 27,
      endMsMax,
      greeted: (payload) => this.#record(`[${payload.toString()}]`),
      received: (payload) => this.#record(payload.toString()),
      drained: () => (this.drains += 1),
      ended: (how) => this.ends.push(how),
    });
  }

  async write(...payloads: string[]): Promise<void> {
    for (const payload of payloads) this.pair.there.write(frame(payload));
    await setImmediate();
  }

  #record(payload: string): string | null {
    this.received.push(payload);
    return payload.includes('bad') ? 'was bad' : null;
  }
}

function frame(payload: string): Buffer {
  return encodeLengthFrame(Buffer.from(payload));
}

test('the first message is the hello, and a fault in any message cuts the channel', async () => {
  const scene = new ChannelScene();
  assert.equal(scene.channel.isGreeted, false);
  await scene.write('hi', 'one', 'bad', 'two');
  assert.deepEqual(scene.received, ['[hi]', 'one', 'bad']);
  assert.deepEqual(scene.ends, [{ kind: 'fault', fault: 'was bad' }]);
  const rude = new ChannelScene();
  await rude.write('bad', 'one');
  assert.deepEqual([rude.received, rude.channel.isGreeted], [['[bad]'], false]);
});

test('an oversized message cuts the channel with a sentence', async () => {
  const scene = new ChannelScene();
  await scene.write('x'.repeat(11));
  const fault = 'sent a message of 11 bytes, where 1 to 10 are allowed';
  assert.deepEqual(scene.ends, [{ kind: 'fault', fault }]);
});

test('messages of one turn are written at its end, in order', async () => {
  const scene = new ChannelScene();
  for (const payload of ['one', 'two', 'three']) scene.channel.send(Buffer.from(payload));
  assert.equal(scene.written.length, 0);
  assert.equal(scene.channel.waitingBytes, 23);
  await setImmediate();
  assert.deepEqual(scene.written, Buffer.concat([frame('one'), frame('two'), frame('three')]));
  assert.deepEqual([scene.channel.waitingBytes, scene.drains], [0, 1]);
});

test('a channel accepts messages up to its bound, and again after they are written', async () => {
  const { channel } = new ChannelScene();
  const send = (): boolean => channel.send(Buffer.from('12345'));
  assert.deepEqual([send(), send(), send(), send()], [true, true, true, false]);
  await setImmediate();
  assert.equal(send(), true);
});

test('an end writes the queue and a last message, stops receiving, and waits for the other end up to a deadline', async () => {
  const scene = new ChannelScene();
  scene.channel.send(Buffer.from('one'));
  const ended = scene.channel.end(Buffer.from('bye'));
  await scene.write('hi');
  await ended;
  assert.deepEqual(scene.written, Buffer.concat([frame('one'), frame('bye')]));
  assert.deepEqual([scene.received, scene.ends], [[], [{ kind: 'closed' }]]);
  const stuck = new ChannelScene();
  stuck.pair.there.pause();
  const given = stuck.channel.end(Buffer.from('bye'));
  stuck.clock.advance(endMsMax);
  await given;
  for (const { clock } of [scene, stuck]) assert.equal(clock.pendingTimers, 0);
});

test('a channel ends in order, in the middle of a message, or by a broken stream', async () => {
  const orderly = new ChannelScene();
  await orderly.write('hi');
  orderly.pair.there.end();
  const hasty = new ChannelScene();
  hasty.pair.there.end(frame('hi').subarray(0, 5));
  const broken = new ChannelScene({ breaksAt: 1 });
  broken.channel.send(Buffer.from('hi'));
  await setImmediate();
  assert.deepEqual(
    [orderly, hasty, broken].map(({ ends }) => ends.map(({ kind }) => kind)),
    [['closed'], ['truncated'], ['broken']],
  );
});
