/**
 * Clients that send the maximum of the most expensive input: their work is bounded, and another client is served as before. Time is
 * driven; the work is counted.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyFrameAskMsMin } from '../../../../src/model/limits.ts';
import {
  rtcFeedbackRateMax,
  rtcFeedbackPerTurnMax,
  rtcMissingRateMax,
  rtcClientRatesMax,
  rtcResendBytesBurstMax,
  rtcResendByteRateOfAllMax,
  rtcResendMsMin,
  rtcResendShare,
} from '../../../../src/model/media/rtc-limits.ts';
import { FeedbackAllowance, SharedFeedback } from '../../../../src/media/webrtc/feedback-allowance.ts';
import { MediaStreams } from '../../../../src/media/webrtc/media-streams.ts';
import { ReorderWindow } from '../../../../src/media/webrtc/reorder-window.ts';
import { encodeBitrateMax, encodeNack, encodePictureLost } from '../../../../src/protocol/rtp/rtcp.ts';
import { decodeRtp, encodeRtp, isRtcp } from '../../../../src/protocol/rtp/rtp-packet.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { bothWays } from '../../../support/incoming-scene.ts';
import { KeptOwner } from '../../../support/kept-rtc-owner.ts';

/** Counts the RTCP packets that are read. */
class CountedFeedback extends SharedFeedback {
  read = 0;

  override acquirePacket(): boolean {
    const isRead = super.acquirePacket();
    if (isRead) this.read += 1;
    return isRead;
  }
}

class Peer {
  readonly owner = new KeptOwner();
  readonly video: Buffer[] = [];
  readonly sound: Buffer[] = [];
  readonly feedback: Buffer[] = [];
  readonly streams: MediaStreams;

  constructor(clock: DrivenClock, feedback: SharedFeedback) {
    this.streams = new MediaStreams(bothWays, {
      clock,
      owner: this.owner,
      sourceName: 'test',
      feedback,
      send: (packet) => this.#keep(packet),
    });
  }

  /** Number of the last video packet sent. */
  get sequence(): number {
    return decodeRtp(this.video.at(-1) ?? Buffer.alloc(0))?.sequence ?? 0;
  }

  /** The latest `count` video packets, 17 per message, in as many messages as fit into a packet. */
  nackOfLast(count: number): Buffer {
    const { sequence } = this;
    const messages: Buffer[] = [];
    for (let from = count; from > 0; from -= 17) {
      const sequences = Array.from(
        { length: Math.min(17, from) },
        (_, i) => (sequence - from + 1 + i) & 0xffff,
      );
      messages.push(encodeNack(1, this.streams.ssrcs.video, sequences));
    }
    return Buffer.concat(messages);
  }

  #keep(packet: Buffer): void {
    if (isRtcp(packet)) this.feedback.push(packet);
    else if (decodeRtp(packet)?.payloadType === 96) this.video.push(packet);
    else this.sound.push(packet);
  }
}

const bytesOf = (packets: readonly Buffer[]): number => packets.reduce((sum, { length }) => sum + length, 0);
const picture = Buffer.concat([Buffer.from([0, 0, 0, 1, 0x65]), Buffer.alloc(10_000, 0xaa)]);
const seconds = 10;
const perTick = rtcClientRatesMax.packets.perSecond / 50;
const nothing = (): void => undefined;
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** An attacker that sends at its full rate, and another client, which misses a packet each second. */
async function flood(make: (attacker: Peer, index: number) => Buffer) {
  const clock = new DrivenClock();
  const shared = new CountedFeedback(clock.monotonicMs());
  const [attacker, other] = [new Peer(clock, shared), new Peer(clock, shared)];
  let firstBytes = 0;
  let otherResent = 0;
  for (let tick = 0; tick < seconds * 50; tick += 1) {
    for (const { streams } of [attacker, other]) {
      streams.sendAudio(Buffer.from([tick & 0xff]), tick * 20);
      if (tick % 5 === 0) streams.sendVideo(picture, tick * 20, nothing);
    }
    if (tick % 5 === 0) firstBytes += picture.length;
    for (let i = 0; i < perTick; i += 1) attacker.streams.receive(make(attacker, i));
    if (tick % 50 === 49) {
      const before = other.video.length;
      other.streams.receive(other.nackOfLast(1));
      otherResent += other.video.length - before;
    }
    clock.advance(20);
    for (const { streams } of [attacker, other]) streams.tick(clock.monotonicMs());
    await nextTurn();
  }
  assert.equal(other.sound.length, seconds * 50);
  assert.equal(otherResent, seconds, 'another client is sent again what it missed');
  const readMax = rtcFeedbackRateMax.burst + (seconds + 1) * rtcFeedbackRateMax.perSecond + seconds;
  assert(
    shared.read > rtcFeedbackRateMax.burst && shared.read <= readMax,
    `${shared.read} packets were read`,
  );
  return { attacker, other, firstBytes };
}

test('a flood of NACKs costs a share of the data sent, and another client is served as before', async () => {
  const { attacker, other, firstBytes } = await flood((peer) => peer.nackOfLast(240));
  const extra = bytesOf(attacker.video) - bytesOf(other.video);
  const max = rtcResendBytesBurstMax + firstBytes * rtcResendShare * 1.1;
  assert(extra > rtcResendBytesBurstMax / 2 && extra < max, `${extra} bytes were sent again, at most ${max}`);
});

test('a flood of NACKs for packets that are not kept sends nothing', async () => {
  const { attacker, other } = await flood(({ streams, sequence }) =>
    encodeNack(
      1,
      streams.ssrcs.video,
      Array.from({ length: 240 }, (_, i) => (sequence + 1000 + i) & 0xffff),
    ),
  );
  assert(bytesOf(attacker.video) <= bytesOf(other.video));
});

test('a flood of lost pictures requests one key frame each time that is due', async () => {
  const { attacker } = await flood(({ streams }) =>
    Buffer.concat(Array.from({ length: 100 }, () => encodePictureLost(1, streams.ssrcs.video))),
  );
  const wanted = attacker.owner.lines.filter((line) => line === 'key frame wanted').length;
  assert(wanted >= seconds && wanted <= (seconds * 1000) / keyFrameAskMsMin + 1, `${wanted} key frames`);
});

test('a flood of bitrates is reported no more often than feedback packets are read', async () => {
  const { attacker } = await flood(({ streams }, index) =>
    encodeBitrateMax(1, streams.ssrcs.video, index % 2 === 0 ? 100_000 : 1_000_000),
  );
  assert(
    attacker.owner.lines.length <= rtcFeedbackRateMax.burst + (seconds + 1) * rtcFeedbackRateMax.perSecond,
  );
});

test('an early second report of a lost picture has its effect when it is due', () => {
  const clock = new DrivenClock();
  const { streams, owner } = new Peer(clock, new SharedFeedback(0));
  streams.receive(encodePictureLost(1, streams.ssrcs.video));
  streams.receive(encodePictureLost(1, streams.ssrcs.video));
  assert.deepEqual(owner.lines, ['key frame wanted']);
  clock.advance(keyFrameAskMsMin);
  streams.tick(clock.monotonicMs());
  streams.tick(clock.monotonicMs());
  assert.deepEqual(owner.lines, ['key frame wanted', 'key frame wanted']);
});

test('a packet that is requested again at once is sent once, and again when an answer could have arrived', () => {
  const clock = new DrivenClock();
  const peer = new Peer(clock, new SharedFeedback(0));
  peer.streams.sendVideo(Buffer.from('0000000165aa', 'hex'), 0, nothing);
  for (let i = 0; i < 5; i += 1) peer.streams.receive(peer.nackOfLast(1));
  assert.equal(peer.video.length, 2);
  clock.advance(rtcResendMsMin);
  peer.streams.receive(peer.nackOfLast(1));
  assert.equal(peer.video.length, 3);
});

test('all clients together have bounded retransmissions, and bounded reads per turn', () => {
  const shared = new SharedFeedback(0);
  let bytes = 0;
  for (let client = 0; client < 100; client += 1) {
    const allowance = new FeedbackAllowance(shared, 0);
    while (allowance.acquireResend(1024, 0)) bytes += 1024;
  }
  assert.equal(bytes, rtcResendByteRateOfAllMax.burst);
  let read = 0;
  for (let client = 0; client < 10; client += 1) {
    const allowance = new FeedbackAllowance(shared, 0);
    while (allowance.acquirePacket(0)) read += 1;
  }
  assert.equal(read, rtcFeedbackPerTurnMax);
});

test('gaps in a stream cost no more than the packets that may be missing', () => {
  const window = new ReorderWindow(300);
  const at = (sequence: number) =>
    decodeRtp(
      encodeRtp({ payloadType: 96, marker: true, sequence, timestamp: 0, ssrc: 1, payload: Buffer.of(1) }),
    );
  let missing = 0;
  for (let i = 0; i < 6000; i += 1) {
    const packet = at((i * 500) & 0xffff);
    assert(packet !== null);
    window.push(packet, 0);
    // Each awaited packet is requested once.
    missing += window.ask(1000).length;
  }
  assert(missing > 0 && missing <= rtcMissingRateMax.burst, `${missing} packets`);
});
