/**
 * Software legs of a call, as a device and as a bridge: one WebSocket to the media listener, with text messages and frames in
 * both directions. For the simulated bridge, the demo and the tests. Source: calls-and-media.md, Legs.
 */
import type { ConnectionOptions } from 'node:tls';
import { WebSocket } from 'ws';
import { mediaFrameHeaderBytes, mediaMessageBytesMax } from '../../model/limits.ts';
import { AwaitedItems } from './awaited-items.ts';
import { LegCounts } from './leg-counts.ts';
import { onFailedOpening, type SocketClosed } from './opened-socket.ts';
import { decodeFrameHeader, type FrameHeader } from '../../protocol/media/frame-header.ts';
import type { AudioFrameFormat, SoundShape, UplinkWish } from '../../model/media/sound.ts';
import type { CallEndReason, ReportedState } from '../../model/call.ts';

export interface LegAccess {
  /** Address of the media listener: `ws://host:port` or `wss://host:port`. */
  readonly url: string;
  /** TLS options of Node, for `wss:`. */
  readonly tls?: ConnectionOptions | undefined;
  /** Called with every received frame; the callee owns the payload. */
  readonly onFrame?: ((header: FrameHeader, payload: Uint8Array) => void) | undefined;
  /** Called when the receiver of this leg's video needs a key frame. Default: queued as a text. */
  readonly onKeyFrameWanted?: (() => void) | undefined;
  /** Receive counters. Default: new ones. */
  readonly counts?: LegCounts | undefined;
}

/** A text message of the listener; further fields depend on its type. */
export interface LegText {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface StateText extends LegText {
  readonly type: 'state';
  readonly state: string;
  readonly reason: string | null;
}

const textsHeldMax = 256;

export class LegRefused extends Error {
  readonly status: number;
  /** The response body; empty: none. */
  readonly reason: string;

  constructor(status: number, reason: string) {
    super(`the media listener refused the leg: ${status} ${reason}`.trimEnd());
    this.status = status;
    this.reason = reason;
  }
}

export class MediaLeg {
  /** Resolves when the connection is closed by either side. */
  readonly closed: Promise<SocketClosed>;
  readonly counts: LegCounts;
  readonly #access: LegAccess;
  readonly #socket: WebSocket;
  readonly #opened: Promise<void>;
  readonly #texts = new AwaitedItems<LegText>(textsHeldMax, 'the media leg is closed');

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
      if (isBinary) this.#receiveFrame(data);
      else this.#receiveText(JSON.parse(data.toString('utf8')) as LegText);
    });
    this.#opened = new Promise((resolve, reject) => {
      this.#socket.on('open', resolve);
      onFailedOpening(this.#socket, ({ code, reason }) => new LegRefused(code, reason), reject);
    });
  }

  /** Resolves when the upgrade is accepted. Rejects with LegRefused, or with the socket's error if unreachable. */
  protected async opened(): Promise<this> {
    await this.#opened;
    return this;
  }

  send(message: object): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /** `bytes`: the frame header and its payload. */
  frame(bytes: Uint8Array): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(bytes);
  }

  /** Bytes that are not yet sent, because the listener reads too slowly. */
  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  /** Resolves when the listener has answered, or the connection is closed. */
  ping(): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.once('pong', () => resolve());
      void this.closed.then(() => resolve());
      if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping();
    });
  }

  /** Resolves with the next text of this type; others stay queued. Rejects with ConnectionGone if the connection closes first. */
  next<Text extends LegText>(type: Text['type']): Promise<Text> {
    return this.until((text): text is Text => text.type === type);
  }

  /** Resolves with the first matching text; others stay queued. Rejects as `next` does. */
  until<Text extends LegText>(isWanted: (text: LegText) => text is Text): Promise<Text>;
  until(isWanted: (text: LegText) => boolean): Promise<LegText>;
  until(isWanted: (text: LegText) => boolean): Promise<LegText> {
    return this.#texts.until(isWanted);
  }

  close(): Promise<SocketClosed> {
    this.#socket.close(1000);
    return this.closed;
  }

  /** Cuts the connection without a close frame. */
  terminate(): Promise<SocketClosed> {
    this.#socket.terminate();
    return this.closed;
  }

  #receiveFrame(message: Buffer): void {
    const header = decodeFrameHeader(message);
    if (!header.ok) return;
    this.counts.frame(header.value, message.length);
    this.#access.onFrame?.(header.value, message.subarray(mediaFrameHeaderBytes));
  }

  #receiveText(text: LegText): void {
    const { onKeyFrameWanted } = this.#access;
    const isKeyFrameWanted = text.type === 'key_frame_wanted';
    this.counts.texts += 1;
    this.counts.keyFramesWanted += isKeyFrameWanted ? 1 : 0;
    if (isKeyFrameWanted && onKeyFrameWanted !== undefined) onKeyFrameWanted();
    else this.#texts.push(text);
  }
}

export interface DeviceLegAccess extends LegAccess {
  readonly token: string;
}

export class DeviceLeg extends MediaLeg {
  /** Rejects with LegRefused if the token is refused. */
  static connect(access: DeviceLegAccess): Promise<DeviceLeg> {
    return new DeviceLeg(access, '/media/v1/device', access.token).opened();
  }

  accept(): void {
    this.send({ type: 'accept' });
  }

  reject(): void {
    this.send({ type: 'reject' });
  }

  /** `reason`: 0-8, of the specification. Default: 1, hung up. */
  hangup(reason = 1): void {
    this.send({ type: 'hangup', reason });
  }
}

export interface BridgeLegAccess extends LegAccess {
  readonly key: string;
  /** The session to join. Default: stand idle until one is assigned. */
  readonly session?: string | undefined;
}

/** Offers a call to an idle bridge. */
export interface AssignText extends LegText {
  readonly type: 'assign';
  readonly session: string;
}

/** The media to request from the phone, and the credentials of the room. */
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
  /** Rejects with LegRefused if the key is refused, or the session is unknown. */
  static connect(access: BridgeLegAccess): Promise<BridgeLeg> {
    const { key, session } = access;
    const query = session === undefined ? '' : `?${new URLSearchParams({ session }).toString()}`;
    return new BridgeLeg(access, `/media/v1/bridge${query}`, key).opened();
  }

  /**
   * Accepts assignments until one starts: an accepted call may go to another bridge, and then the next is assigned. Rejects if
   * the connection closes first.
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

  /** Sets the formats in which the bridge receives the device's media from now on. */
  requestUplink(uplink: Partial<UplinkWish>): void {
    this.send({ type: 'uplink', ...uplink });
  }

  report(state: ReportedState | 'ended', reason?: CallEndReason): void {
    this.send({ type: 'state', state, ...(reason !== undefined && { reason }) });
  }
}

function isAssignmentOrStart(text: LegText): text is AssignText | StartText {
  return text.type === 'assign' || text.type === 'start';
}

/** The requested shape, or the same in another format; AMR is mono. */
export function soundShape(format: AudioFrameFormat | 'requested', requested: SoundShape): SoundShape {
  if (format === 'requested') return requested;
  return { ...requested, format, channels: format === 'amr' ? 1 : requested.channels };
}

export function requestInWords({ request, audio }: StartText): string {
  const sound = `audio ${audio.format} at ${audio.rate} Hz`;
  if (request === null) return sound;
  return `video ${request.width}×${request.height} at most ${request.max_fps} a second, ${sound}`;
}
