/**
 * Messages on the link as bytes: four of length, big endian, then one value of msgpack. What the value means is
 * link-message's.
 */
import { Packr } from 'msgpackr';
import { assert } from '../base/assert.ts';
import { linkMessageBytesMax } from '../domain/limits.ts';

const lengthBytes = 4;
const packr = new Packr({ useRecords: false });

/** Of plain values: no undefined, no class but Buffer. */
export function encodeLinkFrame(value: object): Buffer {
  const payload = packr.pack(value);
  assert(payload.length <= linkMessageBytesMax, 'messages of the link keep to their limit');
  const frame = Buffer.allocUnsafe(lengthBytes + payload.length);
  frame.writeUInt32BE(payload.length);
  frame.set(payload, lengthBytes);
  return frame;
}

/** `invalid`: a length that no message has. Nothing is read after it. */
export type LinkFrameStep =
  | { readonly kind: 'payload'; readonly payload: Buffer }
  | { readonly kind: 'invalid'; readonly length: number };

/** Takes the stream in chunks of any size and gives the same payloads however they were cut. */
export class LinkFrameDecoder {
  readonly #length = Buffer.alloc(lengthBytes);
  #lengthRead = 0;
  /** Of the message whose length is known; null: none is. */
  #payload: Buffer | null = null;
  #payloadRead = 0;

  /** Whether a message has begun, and has not ended. */
  get isWithin(): boolean {
    return this.#lengthRead > 0;
  }

  *feed(chunk: Buffer): Generator<LinkFrameStep, void, undefined> {
    let at = 0;
    while (at < chunk.length) {
      if (this.#payload === null) {
        at += this.#readLength(chunk, at);
        if (this.#lengthRead < lengthBytes) return;
        const length = this.#length.readUInt32BE();
        if (length === 0 || length > linkMessageBytesMax) {
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
