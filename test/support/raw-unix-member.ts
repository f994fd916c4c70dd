/** The other end of a Unix socket between members, in the hand of a test: it says and reads what the test wants. */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { encodeLengthFrame, LengthFrameDecoder } from '../../src/lib/length-frame.ts';
import {
  decodePeerHello,
  decodePeerMessage,
  encodePeerHello,
  type PeerHello,
  type PeerMessage,
} from '../../src/protocol/cluster/peer-message.ts';
import { peerMessageBytesMax } from '../../src/model/limits.ts';

/** What came on one connection, message by message. */
export class RawConnection {
  readonly socket: Socket;
  readonly #payloads: Buffer[] = [];
  readonly #frames = new LengthFrameDecoder(peerMessageBytesMax);
  #wake: () => void = () => undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      for (const step of this.#frames.feed(chunk))
        if (step.kind === 'payload') this.#payloads.push(step.payload);
      this.#wake();
    });
    socket.on('close', () => this.#wake());
  }

  /** The next one; null: it has ended before. */
  async next(): Promise<Buffer | null> {
    while (this.#payloads.length === 0 && !this.socket.destroyed)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.#payloads.shift() ?? null;
  }

  async hello(): Promise<PeerHello | null> {
    const payload = await this.next();
    const read = payload === null ? null : decodePeerHello(payload);
    return read?.ok === true ? read.value : null;
  }

  async message(): Promise<PeerMessage | null> {
    const payload = await this.next();
    const read = payload === null ? null : decodePeerMessage(payload);
    return read?.ok === true ? read.value : null;
  }

  say(...payloads: Uint8Array[]): void {
    for (const payload of payloads) this.socket.write(encodeLengthFrame(payload));
  }

  greet(hello: PeerHello): void {
    this.say(encodePeerHello(hello));
  }
}

/** Listens where a member would. */
export class RawMember {
  readonly #server: Server;
  readonly #connections: RawConnection[] = [];
  #taken = 0;
  #wake: () => void = () => undefined;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#connections.push(new RawConnection(socket));
      this.#wake();
    });
  }

  static async listen(path: string): Promise<RawMember> {
    const member = new RawMember(createServer());
    member.#server.listen(path);
    await once(member.#server, 'listening');
    return member;
  }

  /** How often it was dialled. */
  get dials(): number {
    return this.#connections.length;
  }

  /** The next one, once somebody dials. */
  async connection(): Promise<RawConnection> {
    while (this.#connections.length <= this.#taken)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    const connection = this.#connections[this.#taken];
    this.#taken += 1;
    return connection as RawConnection;
  }

  async close(): Promise<void> {
    for (const { socket } of this.#connections) socket.destroy();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}
