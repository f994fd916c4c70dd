/** Finds a port that is not in use, for a process whose port must be known before it starts. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the range that systems assign automatically, so that none of these is taken by chance. */
const [firstPort, ports] = [10_000, 10_000];

/** Free for TCP and for UDP. Another process may still take the port before it is used. Rejects when `host` is not an address of this machine. */
export async function findFreePort(host: string): Promise<number> {
  for (;;) {
    const port = firstPort + Math.floor(Math.random() * ports);
    if ((await isFreeForTcp(host, port)) && (await isFreeForUdp(host, port))) return port;
  }
}

async function isFreeForTcp(host: string, port: number): Promise<boolean> {
  const server = createServer();
  server.listen({ host, port, exclusive: true });
  const isFree = await isBound(once(server, 'listening'));
  if (isFree) await new Promise((resolve) => server.close(resolve));
  return isFree;
}

/** The WebRTC library keeps a port that it bound until its process ends, so that a test file may meet its own ports again. */
async function isFreeForUdp(host: string, port: number): Promise<boolean> {
  const socket = createSocket({ type: host.includes(':') ? 'udp6' : 'udp4' });
  socket.bind({ address: host, port, exclusive: true });
  const isFree = await isBound(once(socket, 'listening'));
  await new Promise<void>((resolve) => socket.close(resolve));
  return isFree;
}

/** False: the address is in use. Rejects with every other error. */
async function isBound(bound: Promise<unknown>): Promise<boolean> {
  try {
    await bound;
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return false;
  }
}
