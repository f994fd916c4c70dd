import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  SendQueue,
  type OutgoingMessage,
  type OutgoingVideo,
} from '../../../../src/media/relay/send-queue.ts';

function sendQueue() {
  const sent: string[] = [];
  const settled: string[] = [];
  let release = (): void => undefined;
  const sendQueue = new SendQueue({
    transmit: (message, sentOne) => {
      sent.push(nameOf(message));
      release = sentOne;
    },
    settled: (message, result) => settled.push(`${nameOf(message)} ${result}`),
  });
  return { sendQueue, sent, settled, release: () => release() };
}

function nameOf({ payload }: OutgoingMessage): string {
  return Buffer.from(payload).toString();
}

function jpeg(name: string, place: number): OutgoingVideo {
  const payload = Buffer.from(name);
  const header = new Uint8Array(12);
  return {
    kind: 'video',
    format: 'mjpeg',
    isKey: true,
    isPicture: true,
    header,
    payload,
    size: null,
    place,
    done: 'encoded',
    isCounted: true,
  };
}

function sound(timestampMs: number, done: 'audio' | 'transcoded' = 'audio') {
  const payload = Buffer.from(`audio ${timestampMs}`);
  return { timestampMs, payload, header: new Uint8Array(12), done, isCounted: true };
}

test('one message is on its way at a time, and audio goes before video', () => {
  const { sendQueue: out, sent, settled, release } = sendQueue();
  out.offerVideo(jpeg('picture 0', 0));
  out.offerVideo(jpeg('picture 1', 1));
  out.offerAudio(sound(20));
  out.offerAudio(sound(40));
  assert.deepEqual(sent, ['picture 0']);
  for (let n = 0; n < 5; n++) release();
  assert.deepEqual(sent, ['picture 0', 'audio 20', 'audio 40', 'picture 1']);
  assert.deepEqual(settled, ['picture 0 encoded', 'audio 20 audio', 'audio 40 audio', 'picture 1 encoded']);
});

test('of the pictures that wait the oldest goes when a third one comes', () => {
  const { sendQueue: out, sent, settled, release } = sendQueue();
  for (let n = 0; n < 4; n++) out.offerVideo(jpeg(`picture ${n}`, n));
  assert.equal(out.hasPicturesEnough, true);
  assert.deepEqual(settled, ['picture 0 encoded', 'picture 1 slow_leg']);
  release();
  assert.deepEqual(sent, ['picture 0', 'picture 2']);
  assert.equal(out.hasPicturesEnough, false);
});

test('a picture that comes behind that of a newer frame is not shown', () => {
  const { sendQueue: out, sent, settled, release } = sendQueue();
  out.offerVideo(jpeg('picture 1', 1));
  out.offerVideo(jpeg('picture 0', 0));
  release();
  assert.deepEqual(sent, ['picture 1']);
  assert.deepEqual(settled, ['picture 1 encoded', 'picture 0 slow_leg']);
});

test('what waits when its leg leaves has no receiver, and nothing is sent any more', () => {
  const { sendQueue: out, sent, settled, release } = sendQueue();
  out.offerVideo(jpeg('picture 0', 0));
  out.offerVideo(jpeg('picture 1', 1));
  out.offerAudio(sound(20));
  out.close();
  release();
  assert.deepEqual(sent, ['picture 0']);
  assert.deepEqual(settled, ['picture 0 encoded', 'audio 20 no_receiver', 'picture 1 no_receiver']);
});

test('sound is counted as what was done to it', () => {
  const { sendQueue: out, settled, release } = sendQueue();
  out.offerAudio(sound(20));
  out.offerAudio(sound(40, 'transcoded'));
  release();
  assert.deepEqual(settled, ['audio 20 audio', 'audio 40 transcoded']);
});

test('what has passed untouched is known for as long as it may wait, over the end of the timestamps', () => {
  const { sendQueue: out } = sendQueue();
  assert.equal(out.hasPassed(20), false);
  out.offerAudio(sound(100, 'transcoded'));
  assert.equal(out.hasPassed(100), false);
  out.offerAudio(sound(100));
  assert.deepEqual(
    [80, 100, 101, 2 ** 32 - 400, 2 ** 32 - 401].map((atMs) => out.hasPassed(atMs)),
    [true, true, false, true, false],
  );
});
