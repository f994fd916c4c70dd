/** A relay that forwards nothing: it records what legs send, and a test speaks through it. */
import { fail, succeed, type Result } from '../../src/lib/result.ts';
import type { CallMedia } from '../../src/model/call.ts';
import type { SessionId } from '../../src/model/ids.ts';
import type { ReservationRefusal } from '../../src/model/media/picture.ts';
import type { MediaView } from '../../src/protocol/media-link/media-values.ts';
import type { UplinkWish } from '../../src/model/media/sound.ts';
import { Happenings } from './happenings.ts';
import type { LegRelay } from '../../src/media/legs/listener-context.ts';
import type { FrameHeader } from '../../src/protocol/media/frame-header.ts';
import type {
  DeviceOutput,
  JoinedLeg,
  LegOutput,
  LiveOutput,
  PictureOutput,
} from '../../src/media/relay/send-queue.ts';

type JoinedOutput = DeviceOutput | LegOutput | PictureOutput | LiveOutput;

interface CarriedFrame {
  readonly header: FrameHeader;
  readonly payload: Uint8Array<ArrayBuffer>;
  readonly headerBytes: Uint8Array;
}

export class FakeJoinedLeg implements JoinedLeg {
  readonly kind: 'device' | 'bridge' | 'source' | 'output' | 'live';
  readonly sessionId: SessionId;
  readonly media: CallMedia | null;
  readonly frames: CarriedFrame[] = [];
  readonly wishes: UplinkWish[] = [];
  keyFramesWanted = 0;
  readonly maxFpsWanted: number[] = [];
  leftTimes = 0;
  readonly #out: JoinedOutput;
  readonly #happened: () => void;

  constructor(
    kind: FakeJoinedLeg['kind'],
    sessionId: SessionId,
    media: CallMedia | null,
    out: JoinedOutput,
    happened: () => void,
  ) {
    this.kind = kind;
    this.sessionId = sessionId;
    this.media = media;
    this.#out = out;
    this.#happened = happened;
  }

  get frameOutput(): LegOutput {
    if (!('send' in this.#out)) throw new Error('it takes pictures');
    return this.#out;
  }

  get pictureOutput(): PictureOutput {
    if (!('sendPicture' in this.#out)) throw new Error('it takes frames');
    return this.#out;
  }

  get liveOutput(): LiveOutput {
    if (!('source' in this.#out)) throw new Error('it takes one of them');
    return this.#out;
  }

  frame(header: FrameHeader, payload: Uint8Array<ArrayBuffer>, headerBytes: Uint8Array): void {
    this.frames.push({ header, payload, headerBytes });
    this.#happened();
  }

  wants(uplink: UplinkWish): void {
    this.wishes.push(uplink);
    this.#happened();
  }

  wantKeyFrame(): void {
    this.keyFramesWanted += 1;
    this.#happened();
  }

  wantMaxFps(maxFps: number): void {
    this.maxFpsWanted.push(maxFps);
    this.#happened();
  }

  leave(): void {
    this.leftTimes += 1;
    this.#happened();
  }
}

export class FakeRelay extends Happenings implements LegRelay {
  readonly joined: FakeJoinedLeg[] = [];
  /** Refusal of a call before any leg joins. */
  refusal: ReservationRefusal | null = null;
  joinRefusal: ReservationRefusal | null = null;
  /** Called for every leg that joins, before the leg gets its answer. */
  onJoining: (joining: FakeJoinedLeg) => void = () => undefined;

  view(): MediaView | null {
    const hasBridge = this.joined.some(({ kind }) => kind === 'bridge');
    return { hasBridge } as MediaView;
  }

  refusalOf(): ReservationRefusal | null {
    return this.refusal;
  }

  joinDevice(
    sessionId: SessionId,
    media: CallMedia,
    out: DeviceOutput,
  ): Result<JoinedLeg, ReservationRefusal> {
    return this.#join('device', sessionId, media, out);
  }

  joinBridge(sessionId: SessionId, media: CallMedia, out: LegOutput): Result<JoinedLeg, ReservationRefusal> {
    return this.#join('bridge', sessionId, media, out);
  }

  watch(
    sessionId: SessionId,
    what: 'output' | 'source',
    out: PictureOutput,
  ): Result<JoinedLeg, ReservationRefusal> {
    return this.#join(what, sessionId, null, out);
  }

  watchLive(sessionId: SessionId, out: LiveOutput): JoinedLeg {
    return this.#keep('live', sessionId, null, out);
  }

  /** Resolves to the leg that joined as number `count`. */
  leg(count = 1): Promise<FakeJoinedLeg> {
    return this.nth(this.joined, count);
  }

  #join(
    kind: FakeJoinedLeg['kind'],
    sessionId: SessionId,
    media: CallMedia | null,
    out: JoinedOutput,
  ): Result<JoinedLeg, ReservationRefusal> {
    if (this.joinRefusal !== null) return fail(this.joinRefusal);
    return succeed(this.#keep(kind, sessionId, media, out));
  }

  #keep(
    kind: FakeJoinedLeg['kind'],
    sessionId: SessionId,
    media: CallMedia | null,
    out: JoinedOutput,
  ): JoinedLeg {
    const leg = new FakeJoinedLeg(kind, sessionId, media, out, this.happened);
    this.joined.push(leg);
    this.onJoining(leg);
    this.happened();
    return leg;
  }
}
