/**
 * The legs of a call played in software: one WebSocket to the media listener, text messages and frames both ways, as a
 * device and as a bridge. For the simulated bridge, the demo and the tests. Source: calls-and-media.md, Legs.
 */
import type { ConnectionOptions } from 'node:tls';
import { WebSocket } from 'ws';
import { mediaFrameHeaderBytes, mediaMessageBytesMax } from '../../model/limits.ts';
import { AwaitedItems } from './awaited-items.ts';
import { LegCounts } from './leg-counts.ts';
import { decodeFrameHeader, type FrameHeader } from '../../protocol/media/frame-header.ts';
import type { AudioFrameFormat, SoundShape, UplinkWish } from '../../model/media/sound.ts';
import type { CallEndReason, ReportedState } from '../../model/call.ts';

export interface LegAccess {
  /** Address of the media listener: `ws://host:port` or `wss://host:port`. */
  readonly url: string;
  /** Options of Node's TLS connections, for `wss:`. */
  readonly tls?: ConnectionOptions | undefined;
  /** Is given every frame that comes; the payload is the taker's. */
  readonly onFrame?: ((header: FrameHeader, payload: Uint8Array) => void) | undefined;
  /** Whoever takes what this leg sends cannot go on without a key frame. Left out: a text among the others. */
  readonly onKeyFrameWanted?: (() => void) | undefined;
  /** Counts of what comes; its own when left out. */
  readonly counts?: LegCounts | undefined;
}

/** A text message of the listener; what else is in it depends on its type. */
export interface LegText {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The call is in another state. */
export interface StateText extends LegText {
  readonly type: 'state';
  readonly state: string;
  readonly reason: string | null;
}

/** Texts held until somebody asks for them. */
const textsHeldMax = 256;

export interface LegClosed {
  /** 1006: it broke without a close frame. */
  readonly code: number;
  readonly reason: string;
}

/** The listener did not let it in. */
export class LegRefused extends Error {
  /** HTTP. */
  readonly status: number;
  /** The word of the answer; empty: none. */
  readonly reason: string;

  constructor(status: number, reason: string) {
    super(`the media listener refused the leg: ${status} ${reason}`.trimEnd());
    this.status = status;
    this.reason = reason;
  }
}

export class MediaLeg {
  /** Resolves when the connection is gone, whoever ended it. */
  readonly closed: Promise<LegClosed>;
  readonly counts: LegCounts;
  readonly #access: LegAccess;
  readonly #socket: WebSocket;
  readonly #opened: Promise<void>;
  readonly #texts = new AwaitedItems<LegText>(textsHeldMax, 'the media leg is closed');

  /** Begins to connect; `path` may have a query. */
  protected constructor(access: LegAccess, path: string, bearer: string) {
    const { url, tls } = access;
    this.#access = access;
    this.counts = access.counts ?? new LegCounts();
    this.#socket = new WebSocket(new URL(path, url), {
      ...tls,
      headers: { Authorization: `Bearer ${bearer}` },
      perMessageDeflate: false,
      maxPayload: mediaMessageBytesMax,
    });
    this.closed = new Promise((resolve) => {
      this.#socket.on('close', (code, reason) => {
        this.#texts.end();
        resolve({ code, reason: String(reason) });
      });
    });
    this.#socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.#takeFrame(data);
      else this.#take(JSON.parse(data.toString('utf8')) as LegText);
    });
    this.#opened = opening(this.#socket);
  }

  /** Resolves when it has been let in. Rejects with LegRefused, or the socket's error when nobody answers. */
  protected async opened(): Promise<this> {
    await this.#opened;
    return this;
  }

  send(message: object): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /** `bytes`: the header and what it tells of. */
  frame(bytes: Uint8Array): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(bytes);
  }

  /** Bytes that wait for a listener that does not read as fast as this leg sends. */
  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  /** Resolves when the listener has answered it, or the connection is gone. */
  ping(): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.once('pong', () => resolve());
      void this.closed.then(() => resolve());
      if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping();
    });
  }

  /** The next text of this type; those of others are held. Rejects with ConnectionGone when the connection is gone first. */
  next<Text extends LegText>(type: Text['type']): Promise<Text> {
    return this.until((text): text is Text => text.type === type);
  }

  /** The first wanted text that nobody has asked for yet; the others are held. Rejects as `next` does. */
  until<Text extends LegText>(isWanted: (text: LegText) => text is Text): Promise<Text>;
  until(isWanted: (text: LegText) => boolean): Promise<LegText>;
  until(isWanted: (text: LegText) => boolean): Promise<LegText> {
    return this.#texts.until(isWanted);
  }

  /** Says goodbye with a close frame. */
  close(): Promise<LegClosed> {
    this.#socket.close(1000);
    return this.closed;
  }

  /** Cuts the connection without a word. */
  terminate(): Promise<LegClosed> {
    this.#socket.terminate();
    return this.closed;
  }

  #takeFrame(message: Buffer): void {
    const header = decodeFrameHeader(message);
    if (!header.ok) return;
    this.counts.frame(header.value, message.length);
    this.#access.onFrame?.(header.value, message.subarray(mediaFrameHeaderBytes));
  }

  #take(text: LegText): void {
    const { onKeyFrameWanted } = this.#access;
    const isKeyFrameWanted = text.type === 'key_frame_wanted';
    this.counts.texts += 1;
    this.counts.keyFramesWanted += isKeyFrameWanted ? 1 : 0;
    if (isKeyFrameWanted && onKeyFrameWanted !== undefined) onKeyFrameWanted();
    else this.#texts.take(text);
  }
}

function opening(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.on('open', resolve);
    // After the opening an error is followed by the close, which says that the leg is gone.
    socket.on('error', reject);
    socket.on('unexpected-response', (request, response) => {
      let reason = '';
      response.on('data', (chunk: Buffer) => (reason += chunk.toString('latin1')));
      response.on('end', () => {
        reject(new LegRefused(response.statusCode ?? 0, reason));
        request.destroy();
      });
    });
  });
}

export interface DeviceLegAccess extends LegAccess {
  /** As it was issued. */
  readonly token: string;
}

export class DeviceLeg extends MediaLeg {
  /** Rejects with LegRefused when the token is not taken. */
  static connect(access: DeviceLegAccess): Promise<DeviceLeg> {
    return new DeviceLeg(access, '/media/v1/device', access.token).opened();
  }

  accept(): void {
    this.send({ type: 'accept' });
  }

  reject(): void {
    this.send({ type: 'reject' });
  }

  /** `reason`: 0-8, a number of the specification's; 1, somebody hung up, when left out. */
  hangup(reason = 1): void {
    this.send({ type: 'hangup', reason });
  }
}

export interface BridgeLegAccess extends LegAccess {
  /** Its bearer key. */
  readonly key: string;
  /** The session it comes for; left out, it stands idle until it is given one. */
  readonly session?: string | undefined;
}

/** Will it take this call? */
export interface AssignText extends LegText {
  readonly type: 'assign';
  readonly session: string;
}

/** The media that it is to ask the phone for, and its way into the room. */
export interface StartText extends LegText {
  readonly type: 'start';
  /** Null: audio-only. */
  readonly request: {
    readonly width: number;
    readonly height: number;
    readonly rotation: number;
    readonly max_fps: number;
  } | null;
  readonly audio: SoundShape;
  readonly payload: string;
  readonly room: {
    readonly app_id: string;
    readonly model_id: string;
    readonly room_id: string;
    readonly session_key: string;
    readonly session_token: string;
  };
}

export class BridgeLeg extends MediaLeg {
  /** Rejects with LegRefused when the key is not taken, or there is no such session. */
  static connect(access: BridgeLegAccess): Promise<BridgeLeg> {
    const { key, session } = access;
    const query = session === undefined ? '' : `?${new URLSearchParams({ session }).toString()}`;
    return new BridgeLeg(access, `/media/v1/bridge${query}`, key).opened();
  }

  /**
   * Takes the call it is asked to take. One that it took and that went elsewhere is followed by the next it is asked to take.
   * Rejects when the connection is gone first.
   */
  async acceptAssignment(): Promise<{ readonly assign: AssignText; readonly start: StartText }> {
    let taken: AssignText | null = null;
    for (;;) {
      const text: AssignText | StartText = await this.until(isAssignmentOrStart);
      if (text.type === 'assign') {
        taken = text;
        this.send({ type: 'accept' });
      } else if (taken !== null) return { assign: taken, start: text };
    }
  }

  /** Sets the formats in which it takes the device's media from now on. */
  take(uplink: Partial<UplinkWish>): void {
    this.send({ type: 'uplink', ...uplink });
  }

  report(state: ReportedState | 'ended', reason?: CallEndReason): void {
    this.send({ type: 'state', state, ...(reason !== undefined && { reason }) });
  }
}

function isAssignmentOrStart(text: LegText): text is AssignText | StartText {
  return text.type === 'assign' || text.type === 'start';
}

/** The call's sound, in another format if one is named: AMR has one channel. */
export function soundShape(format: AudioFrameFormat | 'told', told: SoundShape): SoundShape {
  if (format === 'told') return told;
  return { ...told, format, channels: format === 'amr' ? 1 : told.channels };
}

/** The request to the phone, for people. */
export function requestInWords({ request, audio }: StartText): string {
  const sound = `audio ${audio.format} at ${audio.rate} Hz`;
  if (request === null) return sound;
  return `video ${request.width}×${request.height} at most ${request.max_fps} a second, ${sound}`;
}
