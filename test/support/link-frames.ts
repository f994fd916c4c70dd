/** Encodes and decodes messages of the link, for tests that act as one of its ends. */
import { encodeLengthFrame, LengthFrameDecoder } from '../../src/lib/link/length-frame.ts';
import type { Result } from '../../src/lib/result.ts';
import { linkMessageBytesMax } from '../../src/model/limits.ts';
import {
  decodeLinkGreeting,
  decodeLinkMessage,
  encodeLinkMessage,
  type ReadMessage,
} from '../../src/protocol/media-link/link-message.ts';

export function linkFrame(message: object): Buffer {
  return encodeLengthFrame(encodeLinkMessage(message));
}

export class LinkFrames<Message> {
  readonly #read: ReadMessage<Message>;
  readonly #frames = new LengthFrameDecoder(linkMessageBytesMax);
  #isGreeted = false;

  constructor(read: ReadMessage<Message>) {
    this.#read = read;
  }

  *feed(chunk: Buffer): Generator<Result<Message, string>, void, undefined> {
    for (const step of this.#frames.feed(chunk)) {
      if (step.kind === 'invalid') throw new RangeError(`a message of ${step.length} bytes`);
      const decode = this.#isGreeted ? decodeLinkMessage : decodeLinkGreeting;
      this.#isGreeted = true;
      yield decode(step.payload, this.#read);
    }
  }
}
