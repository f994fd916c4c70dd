/** A relay on a driven clock with fake transcoders, and legs that read only when a test asks. */
import assert from 'node:assert/strict';
import { succeed, type Result } from '../../src/lib/result.ts';
import type { CallMedia } from '../../src/model/call.ts';
import { generateSessionId, type SessionId } from '../../src/model/ids.ts';
import type {
  DropCause,
  ReservationRefusal,
  MediaFrameResult,
  VideoFrameFormat,
} from '../../src/model/media/picture.ts';
import type { AudioFrameFormat, SoundShape } from '../../src/model/media/sound.ts';
import {
  decodeFrameHeader,
  encodeFrameHeader,
  type FrameHeader,
} from '../../src/protocol/media/frame-header.ts';
import type {
  CameraOutput,
  JoinedLeg,
  LegOutput,
  LiveStream,
  PictureOutput,
} from '../../src/media/relay/send-queue.ts';
import { Relay } from '../../src/media/relay/relay.ts';
import { callMedia } from './call-scene.ts';
import { DrivenClock } from './driven-clock.ts';
import { FakeTranscoders, type FakeTranscoder, type FakeSoundTranscoder } from './fake-transcoders.ts';
import { FakeTelemetry } from './fakes.ts';

/** A screen of 160×100, mode fit. */
export const fitMedia = callMedia;
export const fillMedia: CallMedia = { ...callMedia, resolution: 'fill_screen' };
export const autoMedia: CallMedia = { ...callMedia, resolution: 'auto' };
export const h264Media: CallMedia = { ...callMedia, resolution: 'auto', downVideo: 'h264' };

export interface SentMessage {
  /** Null for a picture. */
  readonly header: FrameHeader | null;
  readonly headerHex: string;
  readonly text: string;
}

/** Accepts one message, and the next one after `read`. */
export class FakeOutput implements LegOutput, PictureOutput {
  readonly messages: SentMessage[] = [];
  keyFramesAsked = 0;
  callsEnded = 0;
  readonly goneWithout: string[] = [];
  readonly dropCauses: string[] = [];
  #sent: (() => void) | null = null;

  get texts(): readonly string[] {
    return this.messages.map(({ text }) => text);
  }

  send(header: Uint8Array, payload: Uint8Array, sent: () => void): void {
    this.#send(header, payload, sent);
  }

  sendPicture(jpeg: Uint8Array, sent: () => void): void {
    this.#send(null, jpeg, sent);
  }

  endCall(): void {
    this.callsEnded += 1;
  }

  framesDropped(cause: DropCause): void {
    this.dropCauses.push(cause);
  }

  askKeyFrame(): void {
    this.keyFramesAsked += 1;
  }

  /** Completes the pending message. False: none is pending. */
  read(): boolean {
    const sent = this.#sent;
    this.#sent = null;
    sent?.();
    return sent !== null;
  }

  readAll(): readonly string[] {
    const before = this.messages.length;
    while (this.read());
    return this.texts.slice(before);
  }

  #send(header: Uint8Array | null, payload: Uint8Array, sent: () => void): void {
    assert.equal(this.#sent, null, 'one message is in transit at a time');
    this.#sent = sent;
    const text = Buffer.from(payload).toString();
    if (header === null) {
      this.messages.push({ header, headerHex: '', text });
      return;
    }
    const decoded = decodeFrameHeader(Buffer.concat([header, payload]));
    assert.ok(decoded.ok, 'its header is valid');
    this.messages.push({ header: decoded.value, headerHex: Buffer.from(header).toString('hex'), text });
  }
}

export class FakeLeg extends FakeOutput {
  readonly leg: JoinedLeg;
  readonly #clock: DrivenClock;

  constructor(clock: DrivenClock, join: (out: FakeOutput) => Result<JoinedLeg, ReservationRefusal>) {
    super();
    this.#clock = clock;
    const joined = join(this);
    assert.ok(joined.ok, 'the leg is admitted');
    this.leg = joined.value;
  }

  /** Sends video with payload `text`. `timestampMs` defaults to the clock. */
  video(format: VideoFrameFormat, text: string, isKeyFrame = false, timestampMs = this.#nowMs): void {
    this.#send({ kind: 'video', format, isKeyFrame, width: 640, height: 480, timestampMs }, text);
  }

  audio(text: string, timestampMs = this.#nowMs, format: AudioFrameFormat = 'alaw'): void {
    this.#send({ kind: 'audio', format, timestampMs }, text);
  }

  leave(): void {
    this.leg.leave();
  }

  get #nowMs(): number {
    return Math.floor(this.#clock.monotonicMs());
  }

  #send(header: FrameHeader, text: string): void {
    this.leg.frame(header, new TextEncoder().encode(text), encodeFrameHeader(header));
  }
}

interface LiveViewer {
  readonly source: FakeLeg;
  readonly output: FakeOutput;
  readonly camera: FakeOutput;
  readonly acceptCamera: () => void;
}

export class RelayScene {
  readonly clock = new DrivenClock();
  readonly transcoders = new FakeTranscoders();
  readonly telemetry = new FakeTelemetry();
  readonly sessionId: SessionId = generateSessionId();
  readonly relay: Relay;
  readonly media: CallMedia;

  constructor(media: CallMedia = fitMedia, maxFps = 15) {
    const { clock, transcoders, telemetry } = this;
    this.media = media;
    this.relay = new Relay({ clock, transcoders, telemetry, maxFps });
  }

  get transcoder(): FakeTranscoder {
    const [transcoder, another] = this.transcoders.live;
    assert.ok(transcoder !== undefined && another === undefined, 'the session has one transcoder');
    return transcoder;
  }

  /** The sound transcoder of the downlink, or of the uplink. */
  get soundTranscoder(): FakeSoundTranscoder {
    const [transcoder, another] = this.transcoders.openedSound;
    assert.ok(transcoder !== undefined && another === undefined, 'one direction has a transcoder of sound');
    return transcoder;
  }

  /** `sound`: format that it accepts. Default: that of the call. */
  device(takes: 'frames' | 'pictures' = 'frames', sound?: SoundShape | null): FakeLeg {
    return this.#leg((out) =>
      this.relay.joinDevice(
        this.sessionId,
        this.media,
        takes === 'frames'
          ? {
              takes,
              ...legOutput(out),
              ...(sound === undefined ? {} : { sound }),
            }
          : { takes, sendPicture: (jpeg, sent) => out.sendPicture(jpeg, sent) },
      ),
    );
  }

  bridge(): FakeLeg {
    return this.#leg((out) => this.relay.joinBridge(this.sessionId, this.media, legOutput(out)));
  }

  viewer(what: 'output' | 'source'): FakeLeg {
    return this.#leg((out) =>
      this.relay.watch(this.sessionId, what, {
        sendPicture: (jpeg, sent) => out.sendPicture(jpeg, sent),
      }),
    );
  }

  /** A viewer that accepts frames and decodes the source itself. `sound`: evaluated for each packet. */
  liveViewer(sound: () => SoundShape | null = () => null): LiveViewer {
    const [output, camera] = [new FakeOutput(), new FakeOutput()];
    let takesCamera = false;
    const source = this.#leg((out) => {
      const heard: LiveStream = {
        ...legOutput(out),
        get sound() {
          return sound();
        },
      };
      const taken: CameraOutput = {
        isTaken: () => takesCamera,
        sendPicture: (jpeg, sent) => camera.sendPicture(jpeg, sent),
      };
      const streams = { source: heard, output: legOutput(output), camera: taken };
      return succeed(this.relay.watchLive(this.sessionId, streams));
    });
    return { source, output, camera, acceptCamera: () => void (takesCamera = true) };
  }

  get counts(): Partial<Record<MediaFrameResult, number>> {
    const prefix = 'media frame ';
    return Object.fromEntries(
      Array.from(this.telemetry.counts)
        .filter(([name]) => name.startsWith(prefix) && name !== 'media frame time')
        .map(([name, count]) => [name.slice(prefix.length), count]),
    );
  }

  #leg(join: (out: FakeOutput) => Result<JoinedLeg, ReservationRefusal>): FakeLeg {
    return new FakeLeg(this.clock, join);
  }
}

function legOutput(out: FakeOutput): LegOutput {
  return {
    send: (header, payload, sent) => out.send(header, payload, sent),
    framesDropped: (cause) => out.framesDropped(cause),
    askKeyFrame: () => out.askKeyFrame(),
    endCall: () => out.endCall(),
    mediaUnavailable: (what, why) => out.goneWithout.push(`${what} ${why}`),
  };
}
