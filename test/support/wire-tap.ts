/** A TCP relay that keeps what is sent to a server, byte by byte. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Ending } from './temporary-store.ts';

export class WireTap {
  readonly port: number;
  readonly #chunks: Buffer[];

  private constructor(port: number, chunks: Buffer[]) {
    this.port = port;
    this.#chunks = chunks;
  }

  static async open(t: Ending, to: number): Promise<WireTap> {
    const chunks: Buffer[] = [];
    const sockets = new Set<Socket>();
    const server = createServer((caller) => {
      const callee = connect({ host: '127.0.0.1', port: to });
      for (const [socket, other] of [
        [caller, callee],
        [callee, caller],
      ] as const) {
        sockets.add(socket);
        socket.on('error', () => other.destroy()).on('close', () => other.destroy());
      }
      caller.on('data', (chunk: Buffer) => chunks.push(chunk));
      caller.pipe(callee).pipe(caller);
    });
    server.listen({ host: '127.0.0.1', port: 0 });
    await once(server, 'listening');
    t.after(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    return new WireTap((server.address() as AddressInfo).port, chunks);
  }

  /** What has been sent since this was last asked. */
  take(): Buffer {
    return Buffer.concat(this.#chunks.splice(0));
  }
}
