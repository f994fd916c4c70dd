/**
 * A phone that is not there: it rings, takes the call when the device does, and sends grey bars that move, as I420 of the
 * size that was asked for. What comes from the device is counted and dropped.
 */
import type { CallStart, VideoRequest } from './media-wire.ts';
import type { PhoneCall, PhoneEvents, PhoneSource } from './phone-source.ts';

export const source: PhoneSource = {
  join: async (start, events) => new TestCall(start, events),
};

const barPixels = 40;

class TestCall implements PhoneCall {
  readonly #start: CallStart;
  readonly #events: PhoneEvents;
  readonly #beganMs = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(start: CallStart, events: PhoneEvents) {
    this.#start = start;
    this.#events = events;
    // The caller has the call in hand first.
    setImmediate(() => events.state('ringing'));
  }

  take(): void {
    // A phone would show and play it.
  }

  /** Each picture of I420 is one. */
  wantKeyFrame(): void {
    // Nothing to do.
  }

  answered(): void {
    const { request } = this.#start;
    this.#events.state('connected');
    if (request === null || this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#show(request), 1000 / request.max_fps);
  }

  leave(): void {
    clearInterval(this.#timer);
  }

  #show({ width, height }: VideoRequest): void {
    const timestampMs = performance.now() - this.#beganMs;
    const payload = bars(width, height, Math.floor(timestampMs / 20));
    this.#events.frame({
      kind: 'video',
      format: 'i420',
      isKeyFrame: true,
      width,
      height,
      timestampMs,
      payload,
    });
  }
}

/** Upright bars, moved to the right by `shift` pixels. */
function bars(width: number, height: number, shift: number): Uint8Array {
  const chroma = Math.ceil(width / 2) * Math.ceil(height / 2);
  const picture = new Uint8Array(width * height + 2 * chroma).fill(128);
  const row = Uint8Array.from(
    { length: width },
    (_, x) => 40 + (Math.floor((x + shift) / barPixels) % 5) * 40,
  );
  for (let y = 0; y < height; y += 1) picture.set(row, y * width);
  return picture;
}
