/** Framing of payloads on a stream: four bytes of length, big endian, then the payload. */
const lengthBytes = 4;

/** `payload`: 1 to 2^32 - 1 bytes. */
export function encodeLengthFrame(payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(lengthBytes + payload.length);
  frame.writeUInt32BE(payload.length);
  frame.set(payload, lengthBytes);
  return frame;
}

/** `invalid`: a length that no payload has. Nothing is read after it. */
export type LengthFrameStep =
  | { readonly kind: 'payload'; readonly payload: Buffer }
  | { readonly kind: 'invalid'; readonly length: number };

/** Decodes chunks of any size; the payloads do not depend on where the stream was cut. */
export class LengthFrameDecoder {
  readonly #payloadBytesMax: number;
  readonly #length = Buffer.alloc(lengthBytes);
  #lengthRead = 0;
  /** Buffer of the current payload; null: its length is not complete. */
  #payload: Buffer | null = null;
  #payloadRead = 0;

  constructor(payloadBytesMax: number) {
    this.#payloadBytesMax = payloadBytesMax;
  }

  /** True: a payload has begun and is incomplete. */
  get isWithin(): boolean {
    return this.#lengthRead > 0;
  }

  *feed(chunk: Buffer): Generator<LengthFrameStep, void, undefined> {
    let at = 0;
    while (at < chunk.length) {
      if (this.#payload === null) {
        at += this.#readLength(chunk, at);
        if (this.#lengthRead < lengthBytes) return;
        const length = this.#length.readUInt32BE();
        if (length === 0 || length > this.#payloadBytesMax) {
          yield { kind: 'invalid', length };
          return;
        }
        this.#payload = Buffer.allocUnsafe(length);
        this.#payloadRead = 0;
      }
      const payload = this.#payload;
      const read = chunk.copy(payload, this.#payloadRead, at);
      this.#payloadRead += read;
      at += read;
      if (this.#payloadRead < payload.length) return;
      this.#payload = null;
      this.#lengthRead = 0;
      yield { kind: 'payload', payload };
    }
  }

  #readLength(chunk: Buffer, at: number): number {
    const read = chunk.copy(this.#length, this.#lengthRead, at);
    this.#lengthRead += read;
    return read;
  }
}
