/** A TCP peer that does only what a test tells it to, and keeps every byte it was sent. */
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';

export class RawPeer {
  readonly socket: Socket;
  /** Resolves with `end` when the server hung up with a FIN, `reset` when with an RST. */
  readonly gone: Promise<'end' | 'reset'>;
  readonly #arrivals = new EventEmitter();
  #received = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.socket = socket;
    this.gone = new Promise((resolve) => {
      socket.once('end', () => resolve('end'));
      socket.once('error', () => resolve('reset'));
      socket.once('close', () => resolve('reset'));
    });
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#arrivals.emit('bytes', chunk);
    });
    void this.gone.then(() => this.#arrivals.emit('bytes'));
  }

  /** `localAddress`: where it comes from, in 127.0.0.0/8. It keeps its own side open after the server's FIN. */
  static async connect(port: number, localAddress = '127.0.0.1'): Promise<RawPeer> {
    const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true, noDelay: true });
    const peer = new RawPeer(socket);
    await once(socket, 'connect');
    return peer;
  }

  /** Takes the next `count` bytes off what has arrived; fewer when the server hangs up first. */
  async read(count: number): Promise<string> {
    const gone = this.gone.then(() => true);
    while (
      this.#received.length < count &&
      !(await Promise.race([gone, once(this.#arrivals, 'bytes').then(() => false)]))
    );
    const taken = this.#received.subarray(0, count);
    this.#received = this.#received.subarray(count);
    return taken.toString('latin1');
  }

  /** Everything until the server hangs up. */
  async readAll(): Promise<string> {
    await this.gone;
    return this.read(this.#received.length);
  }

  /** Bytes that arrived and were not read. */
  get unread(): number {
    return this.#received.length;
  }

  send(bytes: string | Buffer): void {
    this.socket.write(bytes, 'latin1');
  }
}
