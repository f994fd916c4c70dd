/** The kernel's queue of connections that a listening socket has not accepted yet, and sockets that share a port. */
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type ListenOptions } from 'node:net';

/**
 * Connections that the kernel may hold for one listening socket until they are accepted; it takes the smaller of this and its own limit.
 * Node accepts one in a turn of the loop: a storm of strangers waits there, and a newcomer behind it is not dropped.
 */
export const acceptBacklog = 32_768;

const acceptQueueFile = '/proc/sys/net/core/somaxconn';

/** Connections that the kernel holds for one listening socket at most; null: this system does not say. */
export function readAcceptQueueMax(): number | null {
  try {
    return Number(readFileSync(acceptQueueFile, 'latin1'));
  } catch {
    return null;
  }
}

/** The first Node whose `listen` takes `reusePort`. */
const reusePortSince = [22, 12] as const;

/** On Linux a port then has several listening sockets, over which the kernel spreads connections. */
export function hasReusePort(nodeVersion = process.versions.node): boolean {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  return major > reusePortSince[0] || (major === reusePortSince[0] && minor >= reusePortSince[1]);
}

/** The port, or a free one for 0: it is free a moment later, and another process may take it. Rejects when it cannot be had. */
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
