/**
 * Random walks through a session in the relay: legs and viewers that connect, are replaced and disconnect; frames and sound in
 * bursts; receivers that read or do not; a transcoder that answers late or badly. Each message is checked when it is sent, each
 * frame when the transcoder receives it, and the counters at the end. A failure prints its seed and path: pass both to
 * `fc.assert` to repeat it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fail, succeed, type Result } from '../../src/lib/result.ts';
import type { CallMedia } from '../../src/model/call.ts';
import { generateSessionId } from '../../src/model/ids.ts';
import type { ReservationRefusal, FrameResult } from '../../src/model/media/picture.ts';
import { encodeFrameHeader, type FrameHeader } from '../../src/protocol/media/frame-header.ts';
import type { WorkerLoad } from '../../src/model/media/media-capacity.ts';
import type { Transcoders } from '../../src/media/transcoding/transcoder-pool.ts';
import type { Transcoder } from '../../src/media/transcoding/transcoder-session.ts';
import type { DeviceOutput, JoinedLeg, LegOutput, PictureOutput } from '../../src/media/relay/send-queue.ts';
import { Relay } from '../../src/media/relay/relay.ts';
import type { RelayDeps } from '../../src/media/relay/room.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { afterThat, FakeTranscoders, type FakeTranscoder } from '../support/fake-transcoders.ts';
import { FakeTelemetry } from '../support/fakes.ts';
import { autoMedia, fitMedia, h264Media } from '../support/relay-scene.ts';

type Kind = 'device' | 'mjpeg device' | 'bridge' | 'output viewer' | 'source viewer';
type Side = 'bridge' | 'device';

type Step =
  | { readonly what: 'join'; readonly kind: Kind }
  | { readonly what: 'leave' | 'read' | 'flush' | 'ghost'; readonly which: number }
  | {
      readonly what: 'video';
      readonly side: Side;
      readonly format: 'h264' | 'mjpeg';
      readonly count: number;
      readonly startsWithKey: boolean;
      readonly bytes: number;
      readonly everyMs: number;
    }
  | { readonly what: 'audio'; readonly side: Side; readonly count: number; readonly everyMs: number }
  | { readonly what: 'answer'; readonly how: 'well' | 'corrupt' | 'unbuilt' | 'all well' }
  | { readonly what: 'absence' }
  | { readonly what: 'wish'; readonly video: 'h264' | null }
  | { readonly what: 'pass'; readonly ms: number };

const side = fc.constantFrom<Side[]>('bridge', 'bridge', 'device');
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('join'),
      kind: fc.constantFrom<Kind[]>(
        'device',
        'device',
        'device',
        'mjpeg device',
        'bridge',
        'bridge',
        'output viewer',
        'source viewer',
      ),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      what: fc.constantFrom('read', 'read', 'read', 'flush', 'flush', 'leave', 'ghost'),
      which: fc.nat(4),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      what: fc.constant('video'),
      side,
      format: fc.constantFrom('h264', 'h264', 'h264', 'mjpeg'),
      count: fc.constantFrom(1, 1, 1, 2, 5, 33),
      startsWithKey: fc.boolean(),
      bytes: fc.constantFrom(10, 10, 10, 120_000),
      everyMs: fc.constantFrom(0, 10, 67, 100),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('audio'),
      side,
      count: fc.constantFrom(1, 2, 40),
      everyMs: fc.constantFrom(20, 20, 40, -20, 700, -5000),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      what: fc.constant('answer'),
      how: fc.constantFrom('well', 'well', 'well', 'all well', 'all well', 'corrupt', 'unbuilt'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('absence') }) },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('wish'), video: fc.constantFrom('h264' as const, null) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('pass'), ms: fc.constantFrom(1, 250, 499, 500, 900) }),
  },
);

interface SentVideo {
  readonly isCoded: boolean;
  readonly isKey: boolean;
  readonly sender: WalkingLeg;
}

/** Everything that one side has sent while connected, by number. */
class Direction {
  readonly video: SentVideo[] = [];
  audioSent = 0;
  audioAtMs = 0;

  /** True: a decoder that had frame `last` can decode frame `next`. */
  follows(next: number, last: number): boolean {
    if (this.video[next]?.isKey === true) return true;
    return !this.video.slice(last + 1, next).some(({ isCoded }) => isCoded);
  }
}

interface WaitingSound {
  readonly number: number;
  readonly atMs: number;
}

class WalkingLeg {
  readonly kind: Kind;
  isThere = true;
  joined: JoinedLeg | null = null;
  readonly #walk: Walk;
  /** The direction that it receives; for a bridge the uplink. */
  readonly #direction: Direction;
  /** A picture may come from a frame that was in transit when it joined. */
  #lastVideo = -1;
  #lastCoded: number;
  #sound: WaitingSound[] = [];
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #sent: (() => void) | null = null;

  constructor(walk: Walk, kind: Kind, direction: Direction) {
    this.kind = kind;
    this.#walk = walk;
    this.#direction = direction;
    this.#lastCoded = direction.video.length - 1;
  }

  get receivesSound(): boolean {
    return this.kind === 'device' || this.kind === 'bridge';
  }

  send(payload: Uint8Array, sent: () => void, isCoded: boolean): void {
    this.#walk.judge(() => this.#judge(payload, sent, isCoded));
  }

  askKeyFrame(): void {
    this.#walk.judge(() => this.#judgeAsking());
  }

  #judge(payload: Uint8Array, sent: () => void, isCoded: boolean): void {
    assert.ok(this.isThere, 'nothing is sent to who has left');
    assert.equal(this.#sent, null, 'one message is on its way at a time');
    this.#sent = sent;
    this.#walk.count('sent');
    const [, kind, digits] = /([va])(\d+)/.exec(Buffer.from(payload.subarray(0, 40)).toString()) ?? [];
    if (kind === 'a') this.#judgeAudio(Number(digits));
    else this.#judgeVideo(Number(digits), isCoded);
  }

  #judgeAsking(): void {
    assert.ok(this.isThere, 'nothing is asked of who has left');
    assert.ok(this.#walk.clock.monotonicMs() - this.#askedAtMs >= 500, 'not asked oftener than in 500 ms');
    this.#askedAtMs = this.#walk.clock.monotonicMs();
    this.#walk.count('asked');
  }

  /** Predicts the sound, by the specification, before the relay receives it. */
  offerSound(number: number, atMs: number): void {
    const isStale = (waiting: WaitingSound): boolean => Math.abs(waiting.atMs - atMs) > 500;
    while (this.#sound.length === 100 || this.#sound.some(isStale)) {
      this.#sound.shift();
      this.#walk.count('sound dropped');
    }
    this.#sound.push({ number, atMs });
  }

  read(): boolean {
    const sent = this.#sent;
    this.#sent = null;
    sent?.();
    return sent !== null;
  }

  /** Clears the queue, which stayed within its bounds. */
  flush(): void {
    const waited = { pictures: 0, coded: 0, codedBytes: 0 };
    this.#waited = waited;
    while (this.read());
    this.#waited = null;
    assert.ok(waited.pictures <= 2, `${waited.pictures} pictures waited`);
    assert.ok(
      waited.coded <= 30 && waited.codedBytes <= 1024 * 1024,
      'coded frames waited within their bounds',
    );
    assert.deepEqual(this.#sound, [], 'all the sound that is to be kept was');
  }

  #waited: { pictures: number; coded: number; codedBytes: number } | null = null;

  #judgeAudio(number: number): void {
    assert.equal(number, this.#sound.shift()?.number, 'sound comes in its order, the newest 500 ms of it');
  }

  #judgeVideo(number: number, isCoded: boolean): void {
    assert.deepEqual(this.#sound, [], 'sound goes before video');
    assert.ok(number > this.#lastVideo, 'video comes in its order');
    this.#lastVideo = number;
    if (this.#waited !== null) this.#waited[isCoded ? 'coded' : 'pictures'] += 1;
    if (!isCoded) return;
    if (this.#waited !== null) this.#waited.codedBytes += this.#walk.bytesOf(this.#direction, number);
    if (this.#lastCoded + 1 < number) this.#walk.count('gap');
    assert.ok(this.#direction.follows(number, this.#lastCoded), 'behind a gap comes a key frame');
    this.#lastCoded = number;
  }
}

type NewRelay = new (deps: RelayDeps) => Relay;

class Walk {
  readonly clock = new DrivenClock();
  readonly #transcoders = new FakeTranscoders();
  readonly #telemetry = new FakeTelemetry();
  readonly #sessionId = generateSessionId();
  readonly #relay: Relay;
  readonly #media: CallMedia;
  readonly #seen: Map<string, number>;
  readonly #down = new Direction();
  readonly #up = new Direction();
  readonly #bytes = new Map<Direction, number[]>([
    [this.#down, []],
    [this.#up, []],
  ]);
  /** Current and former legs, in order of arrival. */
  readonly #legs: WalkingLeg[] = [];
  readonly #lastTaken = new Map<FakeTranscoder, { taken: number; lastCoded: number | null }>();
  #framesIn = 0;
  #fault: unknown = null;
  #knowsMedia = false;
  #downFormat: 'h264' | 'mjpeg' | null = null;
  #upFormat: 'h264' | 'mjpeg' | null = null;
  /** Format of the current bridge. */
  #uplink: 'h264' | null = null;
  /** True: other formats were converted to H.264 for the device, and may be again. */
  #isConverted = false;
  /** As `#isConverted`, for the bridge. */
  #isUpConverted = false;

  /** `seen`: counts the situations that the walks reach. */
  constructor(media: CallMedia, seen: Map<string, number>, newRelay: NewRelay) {
    const { clock } = this;
    this.#media = media;
    this.#seen = seen;
    const [transcoders, telemetry] = [this.#transcoders, this.#telemetry];
    this.#relay = new newRelay({ clock, transcoders, telemetry, maxFps: 15 });
  }

  async runStep(taken: Step): Promise<void> {
    await this.#perform(taken);
    await Promise.resolve();
    this.#fail();
    this.#judgeTaken();
    this.#judgeTranscoders();
    assert.ok(this.#counted <= this.#framesIn, 'no frame is counted twice');
  }

  /** All legs read everything and disconnect; nothing may remain. */
  async end(): Promise<void> {
    for (const leg of this.#present) leg.flush();
    for (const leg of this.#present) this.#leave(leg);
    for (const transcoder of this.#transcoders.opened) if (transcoder.isWorking) await transcoder.answer();
    this.#fail();
    assert.equal(this.#relay.sessionCount, 0);
    assert.deepEqual(this.#transcoders.live, [], 'no transcoder is kept');
    assert.equal(this.clock.pendingTimers, 0);
    assert.equal(this.#counted, this.#framesIn, 'every frame is counted once');
  }

  /** Collects failures, since an exception inside the relay would be lost. */
  judge(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#fault ??= error;
    }
  }

  count(what: string): void {
    this.#seen.set(what, (this.#seen.get(what) ?? 0) + 1);
  }

  bytesOf(direction: Direction, number: number): number {
    return this.#bytes.get(direction)?.[number] ?? 0;
  }

  #fail(): void {
    if (this.#fault !== null) throw this.#fault;
  }

  get #counted(): number {
    let sum = 0;
    for (const [name, count] of this.#telemetry.counts)
      if (name.startsWith('media frame ') && name !== 'media frame time') sum += count;
    return sum;
  }

  get #present(): readonly WalkingLeg[] {
    return this.#legs.filter(({ isThere }) => isThere);
  }

  #on(wanted: Side): WalkingLeg | null {
    const isWanted = ({ kind }: WalkingLeg): boolean => (kind === 'bridge') === (wanted === 'bridge');
    return this.#present.find((leg) => !leg.kind.endsWith('viewer') && isWanted(leg)) ?? null;
  }

  async #perform(taken: Step): Promise<void> {
    switch (taken.what) {
      case 'join':
        return this.#join(taken.kind);
      case 'leave':
        return this.#leave(this.#present.at(taken.which));
      case 'read':
        this.#present.at(taken.which)?.read();
        return;
      case 'flush':
        return this.#present.at(taken.which)?.flush();
      case 'ghost':
        return this.#haunt(this.#legs.filter(({ isThere }) => !isThere).at(taken.which));
      case 'video':
        return this.#sendVideo(taken);
      case 'audio':
        return this.#sendAudio(taken);
      case 'answer':
        return await this.#answer(taken.how);
      case 'absence':
        return this.#missTheDevice();
      case 'wish':
        return this.#wish(taken.video);
      case 'pass':
        return this.clock.advance(taken.ms);
    }
  }

  #join(kind: Kind): void {
    const leg = new WalkingLeg(this, kind, kind === 'bridge' ? this.#up : this.#down);
    const neededOne = this.#needsTranscoder;
    if (kind.endsWith('viewer') && this.#present.filter((other) => other.kind.endsWith('viewer')).length >= 2)
      return;
    const replaced = kind.endsWith('viewer') ? null : this.#on(kind === 'bridge' ? 'bridge' : 'device');
    if (replaced !== null) replaced.isThere = false;
    this.#legs.push(leg);
    const joined = this.#enter(leg);
    assert.ok(joined.ok);
    leg.joined = joined.value;
    this.#knowsMedia ||= !kind.endsWith('viewer');
    if (replaced !== null) {
      this.count('replaced');
      replaced.joined?.leave();
    }
    if (kind === 'bridge') this.#uplink = null;
    this.#changed(neededOne);
  }

  #wish(video: 'h264' | null): void {
    const bridge = this.#on('bridge');
    if (bridge === null) return;
    const neededOne = this.#needsTranscoder;
    this.#uplink = video;
    bridge.joined?.wants({ audio: null, video });
    this.#changed(neededOne);
    this.count('wish');
  }

  #changed(neededOne: boolean): void {
    this.#isConverted = neededOne && this.#needsMadePictures;
    this.#isUpConverted &&= this.#wantsMade;
  }

  get #wantsMade(): boolean {
    const isMade = this.#upFormat === 'mjpeg' && this.#uplink === 'h264';
    return isMade && this.#on('bridge') !== null && this.#on('device') !== null;
  }

  /** True: the device accepts H.264, and the latest frame has another format. */
  get #needsMadePictures(): boolean {
    const isMade = this.#downFormat === 'mjpeg' && this.#media.downVideo === 'h264';
    return isMade && this.#on('device')?.kind === 'device';
  }

  #enter(leg: WalkingLeg): Result<JoinedLeg, ReservationRefusal> {
    const [id, media] = [this.#sessionId, this.#media];
    const frames: LegOutput = {
      send: (header, payload, sent) => leg.send(payload, sent, header[0] === 1 && header[1] === 1),
      askKeyFrame: () => leg.askKeyFrame(),
    };
    const pictures: PictureOutput = { sendPicture: (jpeg, sent) => leg.send(jpeg, sent, false) };
    switch (leg.kind) {
      case 'bridge':
        return this.#relay.joinBridge(id, media, frames);
      case 'device':
        return this.#relay.joinDevice(id, media, { takes: 'frames', ...frames });
      case 'mjpeg device':
        return this.#relay.joinDevice(id, media, { takes: 'pictures', ...pictures });
      case 'output viewer':
        return this.#relay.watch(id, 'output', pictures);
      case 'source viewer':
        return this.#relay.watch(id, 'source', pictures);
    }
  }

  #leave(leg: WalkingLeg | undefined): void {
    if (leg === undefined) return;
    const neededOne = this.#needsTranscoder;
    leg.isThere = false;
    leg.joined?.leave();
    this.#changed(neededOne);
    if (this.#present.length === 0) this.#knowsMedia = false;
  }

  /** A frame passes while the device is briefly disconnected. */
  #missTheDevice(): void {
    this.#leave(this.#on('device') ?? undefined);
    const frame = { side: 'bridge', format: 'h264', count: 1, startsWithKey: false } as const;
    this.#sendVideo({ what: 'video', ...frame, bytes: 10, everyMs: 67 });
    this.#join('device');
  }

  /** A disconnected leg still sends; the relay has to ignore it. */
  #haunt(leg: WalkingLeg | undefined): void {
    if (leg === undefined || leg.kind.endsWith('viewer')) return;
    this.count('ghost');
    const header: FrameHeader = { kind: 'audio', format: 'alaw', timestampMs: 0 };
    leg.joined?.frame(header, new TextEncoder().encode('a999999'), encodeFrameHeader(header));
    leg.joined?.leave();
  }

  #sendVideo({ side, format, count, startsWithKey, bytes, everyMs }: Step & { what: 'video' }): void {
    const sender = this.#on(side);
    if (sender === null || sender.kind === 'mjpeg device') return;
    const direction = side === 'bridge' ? this.#down : this.#up;
    for (let n = 0; n < count; n++) {
      this.clock.advance(everyMs);
      const isCoded = format === 'h264';
      const isKey = !isCoded || (startsWithKey && n === 0);
      const number = direction.video.push({ isCoded, isKey, sender }) - 1;
      this.#bytes.get(direction)?.push(bytes);
      if (side === 'bridge') this.#downFormat = format;
      else this.#upFormat = format;
      this.#isUpConverted ||= side === 'device' && this.#wantsMade;
      this.#isConverted ||= side === 'bridge' && this.#needsMadePictures;
      const timestampMs = this.clock.monotonicMs();
      this.#frame(
        sender,
        { kind: 'video', format, isKeyFrame: isKey, width: 64, height: 48, timestampMs },
        `v${number}`.padEnd(bytes),
      );
      this.#judgeTaken();
    }
  }

  #sendAudio({ side, count, everyMs }: Step & { what: 'audio' }): void {
    const sender = this.#on(side);
    if (sender === null || sender.kind === 'mjpeg device') return;
    const direction = side === 'bridge' ? this.#down : this.#up;
    const listener = this.#on(side === 'bridge' ? 'device' : 'bridge');
    for (let n = 0; n < count; n++) {
      direction.audioAtMs = Math.max(0, direction.audioAtMs + everyMs);
      const number = direction.audioSent++;
      if (listener?.receivesSound === true) listener.offerSound(number, direction.audioAtMs);
      this.#frame(sender, { kind: 'audio', format: 'alaw', timestampMs: direction.audioAtMs }, `a${number}`);
    }
  }

  #frame(sender: WalkingLeg, header: FrameHeader, text: string): void {
    this.#framesIn += 1;
    sender.joined?.frame(header, new TextEncoder().encode(text), encodeFrameHeader(header));
  }

  async #answer(how: (Step & { what: 'answer' })['how']): Promise<void> {
    const transcoder = this.#transcoders.opened.find(({ isWorking }) => isWorking);
    if (transcoder === undefined) return;
    if (how === 'all well') return await this.#answerAll(transcoder);
    await transcoder.answer(answerOf(transcoder, how));
  }

  async #answerAll(transcoder: FakeTranscoder): Promise<void> {
    const before = transcoder.taken.length;
    while (transcoder.isWorking) await transcoder.answer();
    const waited = transcoder.taken.slice(before);
    const coded = waited.filter(({ frame }) => frame.format === 'h264');
    const codedBytes = coded.reduce((sum, { frame }) => sum + frame.payload.length, 0);
    assert.ok(coded.length <= 30 && codedBytes <= 1024 * 1024, 'coded frames waited within their bounds');
    assert.ok(waited.length - coded.length <= 2, 'two frames that stand alone waited');
  }

  /** Checks the frames that decoders received since the last call. */
  #judgeTaken(): void {
    for (const transcoder of this.#transcoders.opened) {
      const seen = this.#lastTaken.get(transcoder) ?? { taken: 0, lastCoded: null };
      for (const { frame, shapes } of transcoder.taken.slice(seen.taken)) {
        this.count('transcoded');
        const number = Number(/v(\d+)/.exec(Buffer.from(frame.payload.subarray(0, 20)).toString())?.[1]);
        if (frame.format === 'h264') {
          this.#judgeCoded(number, seen.lastCoded);
          seen.lastCoded = number;
        } else assert.ok(shapes.length > 0, 'what stands alone is decoded for a picture only');
      }
      seen.taken = transcoder.taken.length;
      this.#lastTaken.set(transcoder, seen);
    }
  }

  #judgeCoded(number: number, last: number | null): void {
    const isKey = this.#down.video[number]?.isKey === true;
    assert.ok(last !== null || isKey, 'a decoder begins with a key frame');
    if (last === null || isKey) return;
    assert.ok(number > last, 'the decoder has its frames in their order');
    assert.ok(
      this.#down.follows(number, last),
      'a decoder receives every frame, or continues at a key frame',
    );
    assert.equal(
      this.#down.video[number]?.sender,
      this.#down.video[last]?.sender,
      'frames of two bridges are not one stream',
    );
  }

  #judgeTranscoders(): void {
    const expected = Number(this.#needsTranscoder) + Number(this.#isUpConverted);
    assert.equal(
      this.#transcoders.live.length,
      expected,
      'a session has a transcoder exactly if it needs one',
    );
    if (this.#isUpConverted) this.count('made for the bridge');
  }

  get #needsTranscoder(): boolean {
    const takesPictures = ({ kind }: WalkingLeg): boolean =>
      kind === 'mjpeg device' || kind.endsWith('viewer');
    const isReserved =
      this.#media.downVideo === 'mjpeg' ? this.#present.length > 0 : this.#present.some(takesPictures);
    return this.#knowsMedia && (isReserved || this.#isConverted);
  }
}

function answerOf({ taken }: FakeTranscoder, how: 'well' | 'corrupt' | 'unbuilt'): Partial<FrameResult> {
  if (how === 'well') return {};
  const last = taken.at(-1);
  if (how === 'unbuilt') return { pictures: last?.shapes.map(() => 'rebuild_failed') ?? [] };
  return { drop: 'undecodable', keyFrameWanted: last?.frame.format === 'h264' };
}

const calls = { fit: fitMedia, auto: autoMedia, 'H.264': h264Media } as const;

function walks(media: CallMedia, seen: Map<string, number>, newRelay: NewRelay = Relay) {
  return fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
    const walk = new Walk(media, seen, newRelay);
    await walk.runStep({ what: 'join', kind: 'bridge' });
    await walk.runStep({ what: 'join', kind: 'device' });
    for (const taken of steps) await walk.runStep(taken);
    await walk.end();
  });
}

for (const [name, media] of Object.entries(calls))
  test(`a call of ${name}: in order, within bounds, behind a gap a key frame, and every frame counted once`, async () => {
    const seen = new Map<string, number>();
    await fc.assert(walks(media, seen), { numRuns: 500 });
    for (const what of [
      'sent',
      'asked',
      'transcoded',
      'gap',
      'sound dropped',
      'replaced',
      'ghost',
      'wish',
      'made for the bridge',
    ])
      assert.ok((seen.get(what) ?? 0) > 5, `the walks came to: ${what} ${seen.get(what)} times`);
  });

type Send = (header: Uint8Array, payload: Uint8Array, sent: () => void) => void;

/** A relay with faults inserted into its messages and legs. */
abstract class SpoiltRelay extends Relay {
  override joinDevice(...[id, media, out]: Parameters<Relay['joinDevice']>) {
    const spoilt: DeviceOutput =
      out.takes === 'pictures'
        ? { takes: out.takes, ...this.#pictures(out) }
        : { takes: out.takes, ...this.#frames(out) };
    return this.#legOf(super.joinDevice(id, media, spoilt));
  }

  override joinBridge(...[id, media, out]: Parameters<Relay['joinBridge']>) {
    return this.#legOf(super.joinBridge(id, media, this.#frames(out)));
  }

  protected spoilSend(send: Send): Send {
    return send;
  }

  protected spoilAsk(ask: () => void): () => void {
    return ask;
  }

  protected spoilLeave(leave: () => void): () => void {
    return leave;
  }

  #frames(out: LegOutput): LegOutput {
    const send = this.spoilSend((header, payload, sent) => out.send(header, payload, sent));
    return { send, askKeyFrame: this.spoilAsk(() => out.askKeyFrame()) };
  }

  #pictures(out: PictureOutput): PictureOutput {
    const send = this.spoilSend((_, payload, sent) => out.sendPicture(payload, sent));
    return { sendPicture: (jpeg, sent) => send(new Uint8Array(12), jpeg, sent) };
  }

  #legOf(joined: Result<JoinedLeg, ReservationRefusal>): Result<JoinedLeg, ReservationRefusal> {
    if (!joined.ok) return fail(joined.error);
    const { value } = joined;
    const leave = this.spoilLeave(() => value.leave());
    return succeed({
      frame: (...frame: Parameters<JoinedLeg['frame']>) => value.frame(...frame),
      wants: (uplink) => value.wants(uplink),
      wantKeyFrame: () => value.wantKeyFrame(),
      wantMaxFps: (maxFps) => value.wantMaxFps(maxFps),
      leave,
    });
  }
}

class LosesMessages extends SpoiltRelay {
  protected override spoilSend(send: Send): Send {
    let messages = 0;
    return (header, payload, sent) => {
      if (messages++ % 5 === 4) queueMicrotask(sent);
      else send(header, payload, sent);
    };
  }
}

class SwapsMessages extends SpoiltRelay {
  protected override spoilSend(send: Send): Send {
    let held: [Uint8Array, Uint8Array] | null = null;
    return (header, payload, sent) => {
      const first = held;
      held = first === null ? [header, payload] : null;
      if (first === null) queueMicrotask(sent);
      else send(header, payload, () => send(first[0], first[1], sent));
    };
  }
}

class HoardsMessages extends SpoiltRelay {
  protected override spoilSend(send: Send): Send {
    const hoard: [Uint8Array, Uint8Array][] = [];
    let isSending = false;
    const next = (): void => {
      const message = hoard.shift();
      isSending = message !== undefined;
      if (message !== undefined) send(...message, next);
    };
    return (header, payload, sent) => {
      hoard.push([header, payload]);
      if (!isSending) next();
      queueMicrotask(sent);
    };
  }
}

class HurriesMessages extends SpoiltRelay {
  protected override spoilSend(send: Send): Send {
    return (header, payload, sent) => {
      send(header, payload, () => undefined);
      queueMicrotask(sent);
    };
  }
}

class LetsNobodyLeave extends SpoiltRelay {
  protected override spoilLeave(): () => void {
    return () => undefined;
  }
}

class NagsForKeyFrames extends SpoiltRelay {
  protected override spoilAsk(ask: () => void): () => void {
    return () => {
      ask();
      ask();
    };
  }
}

class ForgetsToCount extends Relay {
  constructor(deps: RelayDeps) {
    const telemetry = new FakeTelemetry();
    let frames = 0;
    telemetry.mediaFrames = (result, count) => {
      if (frames++ % 10 !== 9) deps.telemetry.mediaFrames(result as 'passed', count);
    };
    super({ ...deps, telemetry });
  }
}

class SpoiltTranscoders implements Transcoders {
  readonly engine = 'spoilt';
  readonly #transcoders: Transcoders;
  readonly #spoil: (transcoder: Transcoder) => Transcoder;

  constructor(transcoders: Transcoders, spoil: (transcoder: Transcoder) => Transcoder) {
    this.#transcoders = transcoders;
    this.#spoil = spoil;
  }

  open(...need: Parameters<Transcoders['open']>): ReturnType<Transcoders['open']> {
    const opened = this.#transcoders.open(...need);
    return opened.ok ? succeed(this.#spoil(opened.value)) : opened;
  }

  get soundEncoders(): Transcoders['soundEncoders'] {
    return this.#transcoders.soundEncoders;
  }

  openSound(): ReturnType<Transcoders['openSound']> {
    return this.#transcoders.openSound();
  }

  refusalOf(): null {
    return null;
  }

  workers(): readonly WorkerLoad[] {
    return [];
  }

  async close(): Promise<void> {
    await afterThat();
  }
}

class SkipsFramesBeforeTheDecoder extends Relay {
  constructor(deps: RelayDeps) {
    let frames = 0;
    const skipped: FrameResult = {
      source: null,
      pictures: [],
      drop: 'undecodable',
      keyFrameWanted: false,
      rebuilds: 0,
      workMs: 0,
    };
    const transcoders = new SpoiltTranscoders(deps.transcoders, (transcoder) => ({
      hasTimeToSpare: true,
      transcode: (...frame) =>
        frames++ % 4 === 3 ? Promise.resolve(skipped) : transcoder.transcode(...frame),
      close: () => transcoder.close(),
    }));
    super({ ...deps, transcoders });
  }
}

class KeepsTranscoders extends Relay {
  constructor(deps: RelayDeps) {
    const transcoders = new SpoiltTranscoders(deps.transcoders, (transcoder) => ({
      hasTimeToSpare: true,
      transcode: (...frame) => transcoder.transcode(...frame),
      close: () => undefined,
    }));
    super({ ...deps, transcoders });
  }
}

for (const Broken of [
  LosesMessages,
  SwapsMessages,
  HoardsMessages,
  HurriesMessages,
  LetsNobodyLeave,
  NagsForKeyFrames,
  ForgetsToCount,
  SkipsFramesBeforeTheDecoder,
  KeepsTranscoders,
])
  test(`canary: a relay that ${Broken.name} fails the walk, and the failure says its seed`, async () => {
    const result = await fc.check(walks(fitMedia, new Map(), Broken), { numRuns: 300, endOnFailure: true });
    assert.equal(result.failed, true);
    assert.match(fc.defaultReportMessage(result) ?? '', /seed: -?\d+, path: /);
  });
