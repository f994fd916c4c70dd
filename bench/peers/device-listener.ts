/** The device port of a peer, and bare sockets behind it. */
import { createServer, type Socket } from 'node:net';

/** Equal to our sleep port's, so that the kernel drops connections of neither server earlier. */
const acceptBacklog = 32_768;

export function listenForDevices(accept: (socket: Socket) => void): Promise<number> {
  const server = createServer({ noDelay: true }, accept);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0, backlog: acceptBacklog }, () => {
      const address = server.address();
      resolve(address !== null && typeof address === 'object' ? address.port : 0);
    });
  });
}

const sockets = new Set<Socket>();

/**
 * Accepts and keeps sockets, with the event listeners of one of our sessions, shared by all. `received`: with the socket as `this`;
 * `accepted`: each socket, once kept.
 */
export function keepSockets(
  received: (this: Socket, chunk: Buffer) => void,
  accepted: (socket: Socket) => void,
): Promise<number> {
  return listenForDevices((socket) => {
    socket.on('data', received);
    socket.on('end', onEnd);
    socket.on('error', onFailure);
    socket.on('close', onFailure);
    sockets.add(socket);
    accepted(socket);
  });
}

function onEnd(this: Socket): void {
  this.destroy();
}

function onFailure(this: Socket): void {
  sockets.delete(this);
}
