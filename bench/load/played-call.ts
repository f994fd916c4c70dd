/** A call played in software at a real server: a bridge that sends a clip, and a device that takes pictures. */
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import type { LatencyRecorder } from './latency.ts';
import { framesPerSecond } from './legs-protocol.ts';

/** Of a development key, which every server of this figure has. */
export const bridgeKey = 'key-of-the-bridges-of-benchmarks';

/** Where a message has its timestamp. */
const timestampOffset = 8;

export class PlayedCall {
  readonly session: string;
  /** Where it tells what each picture took. */
  latencies: LatencyRecorder | null = null;
  readonly #messages: readonly Buffer[];
  readonly #bridge: BridgeLeg;
  /** When the frame of a timestamp went out; those whose picture has come are gone. */
  readonly #sentAt: Map<number, number>;
  #sent = 0;

  /** `messages`: headers and payloads, the first of a key frame. Rejects with LegRefused when it is not let in. */
  static async connect(
    url: string,
    issued: { readonly peer_id: string; readonly token: string },
    messages: readonly Buffer[],
  ): Promise<PlayedCall> {
    const session = new URL(issued.peer_id).searchParams.get('x_session') ?? '';
    const sentAt = new Map<number, number>();
    let call: PlayedCall | null = null;
    const device = await DeviceLeg.connect({
      url,
      token: issued.token,
      onFrame: ({ timestampMs }) => {
        if (call !== null) call.#pictureCame(timestampMs);
      },
    });
    const bridge = await BridgeLeg.connect({ url, key: bridgeKey, session });
    await bridge.next('start');
    bridge.report('connected');
    await device.next('state');
    return (call = new PlayedCall(session, bridge, messages, sentAt));
  }

  private constructor(
    session: string,
    bridge: BridgeLeg,
    messages: readonly Buffer[],
    sentAt: Map<number, number>,
  ) {
    this.session = session;
    this.#bridge = bridge;
    this.#messages = messages;
    this.#sentAt = sentAt;
  }

  sendNext(): void {
    const message = this.#messages[this.#sent % this.#messages.length];
    if (message === undefined) throw new Error('a call has frames to send');
    const timestampMs = Math.round((this.#sent * 1000) / framesPerSecond);
    this.#sent += 1;
    // What is sent was copied when `frame` returns.
    message.writeUInt32BE(timestampMs, timestampOffset);
    this.#sentAt.set(timestampMs, performance.now());
    this.#bridge.frame(message);
  }

  #pictureCame(timestampMs: number): void {
    const sentMs = this.#sentAt.get(timestampMs);
    if (sentMs === undefined) return;
    this.#sentAt.delete(timestampMs);
    this.latencies?.add(performance.now() - sentMs);
  }
}
