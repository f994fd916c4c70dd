/** A TCP peer that does only what a test asks, and records every byte that it receives. */
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';

export class RawPeer {
  readonly socket: Socket;
  /** Resolves to `end` when the server closed with a FIN, to `reset` after an RST. */
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

  /** `localAddress`: source address in 127.0.0.0/8. It keeps its own side open after the server's FIN. */
  static async connect(port: number, localAddress = '127.0.0.1'): Promise<RawPeer> {
    const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true, noDelay: true });
    const peer = new RawPeer(socket);
    await once(socket, 'connect');
    return peer;
  }

  /** Reads the next `count` bytes; fewer when the server closes first. */
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

  async readAll(): Promise<string> {
    await this.gone;
    return this.read(this.#received.length);
  }

  get unread(): number {
    return this.#received.length;
  }

  send(bytes: string | Buffer): void {
    this.socket.write(bytes, 'latin1');
  }
}
