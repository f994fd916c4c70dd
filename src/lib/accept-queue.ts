/** The kernel's accept queue of a listening socket, and listening sockets that share a port. */
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type ListenOptions } from 'node:net';

/**
 * Length of the accept queue; the kernel uses the smaller of this and its own limit. Node accepts one connection per turn of the
 * event loop, so a storm of connections waits here without dropping the ones behind it.
 */
export const acceptBacklog = 32_768;

const acceptQueueFile = '/proc/sys/net/core/somaxconn';

/** Maximum length of an accept queue on this machine; null: the system does not report it. */
export function readAcceptQueueMax(): number | null {
  try {
    return Number(readFileSync(acceptQueueFile, 'latin1'));
  } catch {
    return null;
  }
}

/** First version of Node whose `listen` supports `reusePort`. */
const reusePortSince = [22, 12] as const;

/** Linux only: the kernel spreads connections over all listening sockets of the port. */
export function hasReusePort(nodeVersion = process.versions.node): boolean {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  return major > reusePortSince[0] || (major === reusePortSince[0] && minor >= reusePortSince[1]);
}

/** The port, or a free one for 0. A free port may be used by another process a moment later. Rejects when it cannot be bound. */
export function freePort(at: ListenOptions): Promise<number> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
