/**
 * What comes over the link, from bytes to messages. The first one is a hello of our version, or what is said in its
 * place, and no other one is; its version is looked at before the rest of it, which only ends of one version agree
 * about. Nothing is read after a fault.
 */
import { LengthFrameDecoder, type LengthFrameStep } from '../../lib/length-frame.ts';
import { fail, type Result } from '../../lib/result.ts';
import { unpackPlain } from '../../lib/plain-msgpack.ts';
import { linkMessageBytesMax } from '../../model/limits.ts';
import { linkVersion } from './link-message.ts';

export class LinkReader<Message> {
  readonly #frames = new LengthFrameDecoder(linkMessageBytesMax);
  readonly #readMessage: (value: unknown) => Result<Message, string>;
  #isGreeted = false;

  constructor(readMessage: (value: unknown) => Result<Message, string>) {
    this.#readMessage = readMessage;
  }

  /** Whether the peer has shown that it speaks our version. */
  get isGreeted(): boolean {
    return this.#isGreeted;
  }

  /** Whether a message has begun, and has not ended. */
  get isWithin(): boolean {
    return this.#frames.isWithin;
  }

  /** Messages, or what the peer did wrong, as the end of a sentence about it. */
  *feed(chunk: Buffer): Generator<Result<Message, string>, void, undefined> {
    for (const step of this.#frames.feed(chunk)) yield this.#read(step);
  }

  #read(step: LengthFrameStep): Result<Message, string> {
    if (step.kind === 'invalid')
      return fail(`sent a message of ${step.length} bytes, where 1 to ${linkMessageBytesMax} are in order`);
    const value = unpackPlain(step.payload);
    const fault = this.#greetingFault(value);
    if (fault !== null) return fail(fault);
    this.#isGreeted = true;
    const message = this.#readMessage(value);
    return message.ok ? message : fail(`sent what is no message of the link: ${message.error}`);
  }

  #greetingFault(value: unknown): string | null {
    const { kind, version } = fieldsOf(value);
    const isGreeting = kind === 'hello' || kind === 'declined';
    if (this.#isGreeted) return isGreeting ? 'said hello twice' : null;
    if (!isGreeting || typeof version !== 'number') return 'does not speak the language of the link';
    if (version === linkVersion) return null;
    return `speaks version ${version} of the link, and this end version ${linkVersion}: run the same release on both`;
  }
}

function fieldsOf(value: unknown): { readonly kind?: unknown; readonly version?: unknown } {
  return typeof value === 'object' && value !== null ? value : {};
}
