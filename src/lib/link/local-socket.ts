/** Links between processes of one machine: a Unix socket, or a named pipe, that only the server's user can open. */
import { renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/**
 * Only this user can connect. The socket is bound under a name of this process, then renamed to `path`, so that a core that
 * exits removes only its own. `peers`: `edges`, for the sentence about a failure. Rejects with a sentence for the operator.
 */
export function listenLocally(
  path: string,
  peers: string,
  accept: (stream: Duplex) => void,
): Promise<Server> {
  const isPipe = process.platform === 'win32';
  const own = isPipe ? path : `${path}.${process.pid}`;
  if (!isPipe) rmSync(own, { force: true });
  const server = createServer(accept);
  const listening = new Promise<Server>((resolve, reject) => {
    const refuse = (cause: Error): void =>
      reject(new Error(`cannot listen for ${peers} on ${path}: ${cause.message}`, { cause }));
    server.on('error', refuse);
    server.once('listening', () => {
      try {
        if (!isPipe) renameSync(own, path);
        resolve(server);
      } catch (error) {
        server.close();
        refuse(error as Error);
      }
    });
  });
  // The socket has mode 0600 from the start.
  const mask = process.umask(0o177);
  server.listen(own);
  process.umask(mask);
  return listening;
}

/** Rejects when no process listens there. */
export function connectLocally(path: string): Promise<Socket> {
  const socket = connect(path);
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
