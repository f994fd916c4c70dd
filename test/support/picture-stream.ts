/**
 * An independent reader of multipart/x-mixed-replace over HTTP, as a device or browser has one. It uses the boundary in the
 * answer's header and the length of a part or, without a length, the next boundary.
 */
import { EventEmitter, once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { get as getByTls } from 'node:https';
import { downlinkPath } from './media-peer.ts';

export interface PictureRequest {
  /** The ticket in `?ticket=…`; null: none. */
  readonly query?: string;
  readonly bearer?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** PEM of the certificate authority to trust; set: TLS. */
  readonly ca?: Buffer;
}

export class PictureStream {
  readonly answer: IncomingMessage;
  readonly pictures: Buffer[] = [];
  isWhole = false;
  /** Resolves when the stream has ended, for any reason. */
  readonly closed: Promise<unknown>;
  readonly #boundary: string;
  readonly #happenings = new EventEmitter();
  #unread = Buffer.alloc(0);

  private constructor(answer: IncomingMessage) {
    this.answer = answer;
    this.#boundary =
      /^multipart\/x-mixed-replace; boundary=(\S+)$/.exec(answer.headers['content-type'] ?? '')?.[1] ?? '';
    if (this.#boundary === '')
      throw new Error(`no pictures: ${answer.statusCode} ${answer.headers['content-type']}`);
    this.closed = new Promise((resolve) => answer.once('close', resolve));
    answer.on('error', () => undefined);
    answer.on('data', (chunk: Buffer) => {
      this.#unread = Buffer.concat([this.#unread, chunk]);
      while (this.#readPart());
      this.#happenings.emit('read');
    });
  }

  static async open(port: number, request: PictureRequest = {}): Promise<PictureStream> {
    const { query = '', bearer = 'good-token', headers = {}, ca } = request;
    const authorization = bearer === null ? {} : { Authorization: `Bearer ${bearer}` };
    const options = { port, path: `${downlinkPath}${query}`, headers: { ...authorization, ...headers } };
    const asking = ca === undefined ? get(options) : getByTls({ ...options, host: '127.0.0.1', ca });
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    return new PictureStream(answer);
  }

  /** Resolves when `count` pictures have arrived. Rejects when the answer ends before. */
  async picturesCome(count: number): Promise<void> {
    while (this.pictures.length < count) {
      if (this.answer.closed) throw new Error(`closed behind ${this.pictures.length} pictures`);
      await Promise.race([once(this.#happenings, 'read'), this.closed]);
    }
  }

  hangUp(): void {
    this.answer.destroy();
  }

  /** Parses the next part. False: it is incomplete. */
  #readPart(): boolean {
    if (this.isWhole && this.#unread.length > 0) throw new Error('something comes behind the last boundary');
    const delimiter = `--${this.#boundary}`;
    if (this.#unread.toString('latin1') === `${delimiter}--\r\n`) {
      this.isWhole = true;
      this.#unread = Buffer.alloc(0);
    }
    const headEnd = this.#unread.indexOf('\r\n\r\n');
    if (headEnd === -1) return false;
    const [first, type, length, ...more] = this.#unread.toString('latin1', 0, headEnd).split('\r\n');
    if (first !== delimiter || type !== 'Content-Type: image/jpeg' || more.length > 0)
      throw new Error(`no part: ${this.#unread.toString('latin1', 0, headEnd)}`);
    const begin = headEnd + 4;
    const next = `\r\n${delimiter}`;
    const end = length === undefined ? this.#unread.indexOf(next, begin) : begin + lengthIn(length);
    if (end === -1 || this.#unread.length < end + next.length) return false;
    if (this.#unread.toString('latin1', end, end + next.length) !== next)
      throw new Error('a part is longer than it says');
    // The last part of a stream without lengths is empty.
    if (end > begin) this.pictures.push(this.#unread.subarray(begin, end));
    this.#unread = this.#unread.subarray(end + 2);
    return true;
  }
}

function lengthIn(field: string): number {
  const [, length] = /^Content-Length: ([1-9]\d*)$/.exec(field) ?? [];
  if (length === undefined) throw new Error(`no length: ${field}`);
  return Number(length);
}
