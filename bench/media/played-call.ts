/** A simulated call at a real server: a bridge that sends a clip, a device that receives pictures, and audio in both directions. */
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { encodeFrameHeader } from '../../src/protocol/media/frame-header.ts';
import type { LatencyRecorder } from '../harness/latency.ts';

export const framesPerSecond = 15;

/** Development key of all servers of this benchmark. */
export const bridgeKey = 'key-of-the-bridges-of-benchmarks';

const timestampOffset = 8;

const packetMs = 20;
const samplesPerPacket = 160;
/** Silence costs as much to transcode as speech. */
const packets = {
  bridge: soundMessage('pcm', Buffer.alloc(2 * samplesPerPacket)),
  device: soundMessage('alaw', Buffer.alloc(samplesPerPacket, 0xd5)),
};

function soundMessage(format: 'pcm' | 'alaw', payload: Buffer): Buffer {
  return Buffer.concat([encodeFrameHeader({ kind: 'audio', format, timestampMs: 0 }), payload]);
}

interface Playing {
  readonly session: string;
  readonly bridge: BridgeLeg;
  readonly device: DeviceLeg;
  readonly messages: readonly Buffer[];
  readonly hasSound: boolean;
  readonly sentAt: Map<number, number>;
}

export class PlayedCall {
  readonly session: string;
  latencies: LatencyRecorder | null = null;
  readonly #messages: readonly Buffer[];
  readonly #bridge: BridgeLeg;
  readonly #device: DeviceLeg;
  /** Send times of frames without a picture so far, by timestamp. */
  readonly #sentAt: Map<number, number>;
  #sent = 0;
  readonly #hasSound: boolean;
  #soundSentMs = 0;

  /**
   * `messages`: headers and payloads, starting with a key frame. With audio, the bridge uses PCM and the device A-law. Rejects
   * with LegRefused if the media process refuses a leg.
   */
  static async connect(
    url: string,
    issued: { readonly peer_id: string; readonly token: string },
    messages: readonly Buffer[],
    hasSound: boolean,
  ): Promise<PlayedCall> {
    const session = new URL(issued.peer_id).searchParams.get('x_session') ?? '';
    const sentAt = new Map<number, number>();
    let call: PlayedCall | null = null;
    const device = await DeviceLeg.connect({
      url,
      token: issued.token,
      onFrame: ({ kind, timestampMs }) => {
        if (call !== null && kind === 'video') call.#pictureCame(timestampMs);
      },
    });
    const bridge = await BridgeLeg.connect({ url, key: bridgeKey, session });
    await bridge.next('start');
    if (hasSound) bridge.requestUplink({ audio: { format: 'pcm', rate: 8000, channels: 1 } });
    bridge.report('connected');
    await device.next('state');
    return (call = new PlayedCall({ session, bridge, device, messages, hasSound, sentAt }));
  }

  private constructor({ session, bridge, device, messages, hasSound, sentAt }: Playing) {
    this.session = session;
    this.#bridge = bridge;
    this.#device = device;
    this.#messages = messages;
    this.#hasSound = hasSound;
    this.#sentAt = sentAt;
  }

  sendNext(): void {
    const message = this.#messages[this.#sent % this.#messages.length];
    if (message === undefined) throw new Error('a call has frames to send');
    const timestampMs = Math.round((this.#sent * 1000) / framesPerSecond);
    this.#sent += 1;
    // `frame` copies the message before it returns.
    message.writeUInt32BE(timestampMs, timestampOffset);
    this.#sentAt.set(timestampMs, performance.now());
    this.#bridge.frame(message);
    if (this.#hasSound) this.#soundUpTo(timestampMs);
  }

  #soundUpTo(timestampMs: number): void {
    for (; this.#soundSentMs <= timestampMs; this.#soundSentMs += packetMs)
      for (const [leg, packet] of [
        [this.#bridge, packets.bridge],
        [this.#device, packets.device],
      ] as const) {
        packet.writeUInt32BE(this.#soundSentMs, timestampOffset);
        leg.frame(packet);
      }
  }

  #pictureCame(timestampMs: number): void {
    const sentMs = this.#sentAt.get(timestampMs);
    if (sentMs === undefined) return;
    this.#sentAt.delete(timestampMs);
    this.latencies?.add(performance.now() - sentMs);
  }
}
